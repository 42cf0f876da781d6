// Package manifest reads the objects that people keep in files: NodePools, NodeClaims and EC2NodeClasses,
// and the workloads, nodes and volumes they are simulated with. It reads bytes and never opens a file.
package manifest
