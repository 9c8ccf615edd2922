package frame

// TestOnlySniff is sniff, whose findings must agree with the parser's.
var TestOnlySniff = sniff
