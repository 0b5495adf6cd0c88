package config

import "errors"

// Load reads and checks the file at path; "-" is not special here.
func Load(path string) (*Config, error) { return nil, errors.New("config: files are not read yet") }

// Parse checks data, which is called name in messages.
func Parse(name string, data []byte) (*Config, error) {
	return nil, errors.New("config: files are not read yet")
}
