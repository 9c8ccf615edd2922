package stdio

import "testing"

func TestMendRoots(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"roots":[]}`, `{"roots":[]}`},
		{`{"roots":[{"uri":"file:///a"},null]}`, `{"roots":[{"uri":"file:///a"},null]}`},
		{`{"roots":[5,{"uri":"file:///a","name":"A"}]}`, `{"roots":[{"uri":""},{"uri":"file:///a","name":"A"}]}`},
		{`{"x":1,"roots":[{"uri":5},{"uri":null},["a"],"b",true]}`, `{"x":1,"roots":[{"uri":""},{"uri":""},{"uri":""},{"uri":""},{"uri":""}]}`},
		{`{"roots":[{"uri":"file:///a","name":7,"_meta":{"rootbound/mode":"ro"}}]}`, `{"roots":[{"uri":"file:///a","_meta":{"rootbound/mode":"ro"}}]}`},
		{`{"roots":[{"uri":"file:///a","_meta":"ro"}]}`, `{"roots":[{"uri":""}]}`},
		{`{"roots":[{}]}`, `{"roots":[{}]}`},
		{`{"roots":{"uri":5}}`, `{"roots":{"uri":5}}`},
		{`{"roots":null}`, `{"roots":null}`},
		{`{}`, `{}`},
	} {
		if got := string(mendRoots([]byte(c.in), "roots")); got != c.want {
			t.Errorf("%s became %s, want %s", c.in, got, c.want)
		}
	}
	const deep = `{"inputResponses":{"roots":{"roots":[1]}}}`
	if got := string(mendRoots([]byte(deep), "inputResponses", "roots", "roots")); got != `{"inputResponses":{"roots":{"roots":[{"uri":""}]}}}` {
		t.Errorf("%s became %s", deep, got)
	}
}
