package main

import (
	"os"

	"github.com/podorder/podorder/scripts/internal/newcase"
)

func main() { os.Exit(newcase.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
