package kafka

// phase is how far a partition is on its way to being worked on.
type phase uint8

const (
	restoring  phase = iota // Its memory is being read.
	catchingUp              // It works, on what had piled up.
	running
	refused // It does not start; the report says why.
)

var phaseNames = [...]string{"restoring", "catching_up", "running", "refused"}

func (p phase) String() string { return phaseNames[p] }

// works tells whether records are handled.
func (p phase) works() bool { return p == catchingUp || p == running }
