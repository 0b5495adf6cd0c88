package proxy

// frames follows the frame boundaries of one direction of a WebSocket
// connection (RFC 6455, section 5.2) without looking at the payload. It keeps
// one frame header, at most fourteen bytes, and never buffers payload.
type frames struct {
	head [14]byte
	have int    // bytes of the header seen
	left uint64 // bytes of payload to come
}

// boundary is true between two frames: here, and only here, a control frame
// may be put in.
func (f *frames) boundary() bool { return f.have == 0 && f.left == 0 }

// advance consumes p up to the end of the current frame, or all of it, and
// says how much that was.
func (f *frames) advance(p []byte) int {
	n := 0
	for n < len(p) {
		if f.left > 0 {
			take := min(f.left, uint64(len(p)-n))
			f.left -= take
			n += int(take)
			if f.left == 0 {
				return n
			}
			continue
		}
		f.head[f.have] = p[n]
		f.have++
		n++
		if f.have < f.headerLen() {
			continue
		}
		f.left = f.payload()
		f.have = 0
		if f.left == 0 {
			return n
		}
	}
	return n
}

// headerLen is how long the header is, as far as its bytes say.
func (f *frames) headerLen() int {
	if f.have < 2 {
		return 2
	}
	n := 2
	switch f.head[1] & 0x7f {
	case 126:
		n += 2
	case 127:
		n += 8
	}
	if f.head[1]&0x80 != 0 {
		n += 4
	}
	return n
}

// payload is the length in a complete header.
func (f *frames) payload() uint64 {
	short := uint64(f.head[1] & 0x7f)
	var size int
	switch short {
	case 126:
		size = 2
	case 127:
		size = 8
	default:
		return short
	}
	var n uint64
	for _, b := range f.head[2 : 2+size] {
		n = n<<8 | uint64(b)
	}
	return n
}

// goingAway is a complete close frame, unmasked as a server sends it: status
// 1001 (going away) and the reason "draining".
var goingAway = [...]byte{0x88, 10, 0x03, 0xe9, 'd', 'r', 'a', 'i', 'n', 'i', 'n', 'g'}
