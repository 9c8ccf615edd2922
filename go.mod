module github.com/rootbound/rootbound

go 1.26.0
