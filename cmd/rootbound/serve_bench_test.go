package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkServe reads a file of 4 KiB through the server again and again, over
// real pipes, with some calls in flight at a time. It is what a profile of the
// server is taken from: go test -bench Serve -cpuprofile cpu.out ./cmd/rootbound
func BenchmarkServe(b *testing.B) {
	for _, window := range []int{1, 32} {
		b.Run(fmt.Sprintf("inflight=%d", window), func(b *testing.B) {
			dir := b.TempDir()
			file := filepath.Join(dir, "f.txt")
			if err := os.WriteFile(file, bytes.Repeat([]byte("0123456 89abcde\n"), 256), 0o666); err != nil {
				b.Fatal(err)
			}
			inr, inw, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			outr, outw, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				done <- run(b.Context(), []string{"serve", dir}, inr, outw, io.Discard)
				outw.Close()
			}()
			r := bufio.NewReaderSize(outr, 1<<20)
			send := func(line string) {
				if _, err := io.WriteString(inw, line+"\n"); err != nil {
					b.Error(err)
				}
			}
			receive := func() []byte {
				line, err := r.ReadSlice('\n')
				if err != nil {
					b.Fatal(err)
				}
				return line
			}
			send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`)
			receive()
			send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			id := 0
			call := func() {
				id++
				send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":%q}}}`, id, file))
			}
			for range window {
				call()
			}
			b.ReportAllocs()
			for b.Loop() {
				if line := receive(); !bytes.Contains(line, []byte("89abcde")) {
					b.Fatalf("%.200s", line)
				}
				call()
			}
			for range window {
				receive()
			}
			inw.Close()
			select {
			case err := <-done:
				if err != nil {
					b.Fatal(err)
				}
			case <-time.After(10 * time.Second):
				b.Fatal("the server does not end with its input")
			}
		})
	}
}
