package config

import (
	"net/url"
	"testing"
)

func TestCollides(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{":8080", ":8080", true},
		{":8080", "127.0.0.1:8080", true},
		{":8080", "0.0.0.0:8080", true},
		{":8080", "[::]:8080", true},
		{"0.0.0.0:8080", "127.0.0.1:8080", true},
		{"0.0.0.0:8080", "10.1.2.3:8080", true},
		{"[::]:8080", "127.0.0.1:8080", true},
		{"[::]:8080", "[::1]:8080", true},
		{"localhost:8080", "127.0.0.1:8080", true},
		{"localhost:8080", "LOCALHOST.:8080", true},
		{":8080", "service.example:8080", true},
		{"service.example:8080", "Service.Example:8080", true},
		{"127.0.0.1:8080", "127.0.0.1:08080", true},
		{"[::ffff:127.0.0.1]:8080", "127.0.0.1:8080", true},
		{":8080", ":8081", false},
		{":0", ":0", false},
		{"127.0.0.1:0", "127.0.0.1:0", false},
		{"127.0.0.1:8080", "127.0.0.2:8080", false},
		{"127.0.0.1:8080", "[::1]:8080", false},
		{"0.0.0.0:8080", "[::1]:8080", false},
		{"10.0.0.1:8080", "service.example:8080", false}, // who knows
		{"a.example:8080", "b.example:8080", false},
	} {
		if got := listener(c.a).collides(listener(c.b)); got != c.want {
			t.Errorf("%s and %s: %v, want %v", c.a, c.b, got, c.want)
		}
		if got := listener(c.b).collides(listener(c.a)); got != c.want {
			t.Errorf("%s and %s: %v, want %v", c.b, c.a, got, c.want)
		}
	}
}

func TestReaches(t *testing.T) {
	for _, c := range []struct {
		url, listen string
		want        bool
	}{
		{"http://127.0.0.1:8080", ":8080", true},
		{"http://127.0.0.9:8080/path", "0.0.0.0:8080", true},
		{"http://localhost:8080", ":8080", true},
		{"http://localhost:8080", "127.0.0.1:8080", true},
		{"http://[::1]:8080", ":8080", true},
		{"http://[::1]:8080", "[::]:8080", true},
		{"http://0.0.0.0:8080", "127.0.0.1:8080", true},
		{"http://localhost", ":80", true},
		{"https://localhost", ":443", true},
		{"http://10.1.2.3:8080", "10.1.2.3:8080", true},
		{"http://me.example:8080", "Me.example:8080", true},
		{"http://127.0.0.1:9000", ":8080", false},
		{"http://127.0.0.1:8080", ":0", false},
		{"http://[::1]:8080", "0.0.0.0:8080", false},
		{"http://127.0.0.2:8080", "127.0.0.1:8080", false},
		{"http://10.1.2.3:8080", ":8080", false}, // another host, for all that is known
		{"http://service.example:8080", ":8080", false},
		{"http://localhost", ":8080", false},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := target(u).reaches(listener(c.listen)); got != c.want {
			t.Errorf("%s and %s: %v, want %v", c.url, c.listen, got, c.want)
		}
	}
}
