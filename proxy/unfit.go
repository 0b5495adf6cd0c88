package proxy

import (
	"net/http"
	"strings"
)

// unfit says with which status a request is answered before anybody is asked,
// and why; 0 for one that can be forwarded. HTTP/2 has frames for what HTTP/1 has
// lines for, so there net/http lets through what would not stay in its line.
func unfit(r *http.Request) (status int, why string) {
	switch {
	case r.Method == http.MethodConnect:
		return http.StatusNotImplemented, "CONNECT is not served here"
	case r.URL.Opaque != "": // x:http://host/path: no rule would see where it leads
		return http.StatusBadRequest, "the request's target is neither a path nor a URL"
	case r.ProtoMajor < 2:
		return 0, ""
	case !only(r.Method, "!#$%&'*+-.^_`|~"):
		return http.StatusBadRequest, "the request's method is none"
	case !only(r.Host, "!$%&'()*+,-.:;=[]_~"):
		return http.StatusBadRequest, "the request's host is none"
	}
	return 0, ""
}

// only says whether s has nothing but letters, digits and others in it.
func only(s, others string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}
