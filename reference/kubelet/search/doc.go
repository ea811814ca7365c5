// Package search makes up Pods and looks for runs of them that the model is wrong about.
package search
