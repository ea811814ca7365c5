package main

import (
	"os"

	"github.com/podorder/podorder/scripts/internal/judge"
)

func main() { os.Exit(judge.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
