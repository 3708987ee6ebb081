module github.com/turnlock/turnlock/bindings/go

go 1.19
