// Package orphans ends the go commands that a killed process left going.
//
// They are told by the folder that they keep their temporary files in: who starts them gives each run one of its own, as GOTMPDIR.
//
// Left out on purpose: every other process. What keeps the nodes of a kept cluster was started by the same run, and goes on.
package orphans
