package events

// Keys of log lines, the same in every function, so that one query finds all that was said of a thing.
const (
	KeyCluster      = "cluster"
	KeyNodeClaim    = "nodeclaim"
	KeyNodePool     = "nodepool"
	KeyNode         = "node"
	KeyPod          = "pod"
	KeyInstance     = "instance"
	KeyInstanceType = "type"
	KeyZone         = "zone"
	KeyCapacityType = "capacityType"
	KeyLaunch       = "launch"
	KeyQueue        = "queue"
	KeyReason       = "reason"
	KeyDetail       = "detail"
	KeyDecision     = "decision"
	KeyKind         = "kind"
	KeyObject       = "object"
	KeyState        = "state"
	KeyRounds       = "rounds"
	KeyGrace        = "grace"
	KeyError        = "error"

	KeyLaunches   = "launches"
	KeyPods       = "pods"
	KeyExisting   = "onExisting"
	KeyUnplaced   = "unplaced"
	KeyUSDPerHour = "usdPerHour"
	KeyInstances  = "instances"

	KeyMessage   = "messageID"
	KeyGroup     = "group"
	KeyReceived  = "received"
	KeyMalformed = "malformed"
	KeyStack     = "stack"
)
