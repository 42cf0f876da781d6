package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
)

// identifiers makes names that look random and are not: the n-th of a world is always the same.
type identifiers struct {
	world string
	count uint64
}

func (i *identifiers) next(what string) [sha256.Size]byte {
	i.count++
	return digest(i.world, what, strconv.FormatUint(i.count, 10))
}

// uid is a Kubernetes UID or a message id.
func (i *identifiers) uid() types.UID {
	sum := i.next("uid")
	text := hex.EncodeToString(sum[:16])
	return types.UID(text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:])
}

// hex is a name of n hexadecimal digits, as those of EC2's resources.
func (i *identifiers) hex(what string, n int) string {
	sum := i.next(what)
	return hex.EncodeToString(sum[:])[:n]
}

// suffix is what a controller appends to a name that it generates. Vowels and look-alikes are left out,
// as Kubernetes does, so that no word is spelled by accident.
func (i *identifiers) suffix() string {
	sum := i.next("suffix")
	return safeText(sum, 5)
}

func safeText(sum [sha256.Size]byte, n int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	text := make([]byte, n)
	for at := range text {
		text[at] = letters[int(sum[at])%len(letters)]
	}
	return string(text)
}

func digest(parts ...string) [sha256.Size]byte {
	hash := sha256.New()
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write([]byte(part))
	}
	return [sha256.Size]byte(hash.Sum(nil))
}
