module turnlock.example/go

go 1.19
