package main

import (
	"os"

	"github.com/podorder/podorder/scripts/internal/reporting"
)

func main() { os.Exit(reporting.Run(os.Args[1:], os.Stdout, os.Stderr)) }
