// Package iptables stands in for sigs.k8s.io/iptables-wrappers/pkg/iptables where a kubelet is built: that module is not published. It has what a kubelet
// compiles with, and finds no iptables on any system. The kubelet then says so in its log, and leaves two chains out that other programs look for; the
// order of containers does not depend on them.
package iptables

import (
	"context"
	"time"
)

type (
	// Chain is the name of a chain.
	Chain string
	// Table is the name of a table.
	Table string
	// Position is where a rule goes in its chain.
	Position string
	// Protocol is a version of the Internet Protocol.
	Protocol string
	// Mode is a way of finding out which iptables a system has.
	Mode string
)

// The names that a kubelet uses. Nothing looks at their values.
const (
	TableFilter Table = "filter"
	TableMangle Table = "mangle"
	TableNAT    Table = "nat"

	ChainInput  Chain = "INPUT"
	ChainOutput Chain = "OUTPUT"

	Prepend Position = "prepend"
	Append  Position = "append"

	UseInstalledMode Mode = "installed"
)

// Interface is what a kubelet would do with iptables. Nothing implements it.
type Interface interface {
	EnsureChain(ctx context.Context, table Table, chain Chain) (existed bool, err error)
	EnsureRule(ctx context.Context, position Position, table Table, chain Chain, args ...string) (existed bool, err error)
	Monitor(ctx context.Context, canary Chain, tables []Table, reload func(), interval time.Duration)
	IsIPv6() bool
	Protocol() Protocol
}

// NewBestEffort says that there is no iptables.
func NewBestEffort(context.Context, Mode) map[Protocol]Interface { return nil }
