package main

import (
	"os"

	"github.com/podorder/podorder/scripts/internal/explain"
)

func main() { os.Exit(explain.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
