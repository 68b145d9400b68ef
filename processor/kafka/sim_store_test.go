//go:build synctests

package kafka

import (
	"bytes"
	"encoding/base64"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing/synctest"

	"github.com/fusebox-project/fusebox/state"
)

// prepare makes the store what the next life is to find.
func (i *instance) prepare() {
	switch i.store {
	case "old":
		if len(i.copies) > 0 {
			i.dir = i.s.copyOf(i.copies[int(i.pick%uint64(len(i.copies)))])
			i.s.took("store old")
		}
	case "lost":
		i.dir = i.s.newDir()
		i.s.took("store lost")
	case "ahead":
		if i.s.ahead(i.dir) {
			i.s.took("store ahead")
		}
	case "damaged":
		if i.s.damage(i.dir, i.pick) {
			i.s.took("store damaged")
		}
	}
	i.store = ""
}

// beyond is how far: nobody fills that up meanwhile. By its offset alone a store of another past could not be told.
const beyond = 1_000_000

// ahead makes a store one of a changelog that has lost its end since, as where a broker that was behind was made its
// leader: it stands beyond the end, and knows a circuit of which nothing is left. It tells whether there was a store.
func (s *simulation) ahead(dir string) (done bool) {
	ends, err := s.admin.ListEndOffsets(s.t.Context(), topics.Changelog)
	if err != nil || ends.Error() != nil {
		return false
	}
	store, err := s.openStore(dir)
	if err != nil {
		s.t.Errorf("open a store: %v", err)
		return false
	}
	defer store.Close()
	for id := range s.partitions {
		at, known, err := store.Position(id)
		if err != nil || !known {
			continue
		}
		end, _ := ends.Lookup(topics.Changelog, id)
		at.Offset = end.Offset + beyond
		var lost []state.Change
		err = store.Each(id, func(circuit string, value []byte) error {
			if isCircuit(circuit) {
				lost = []state.Change{{Circuit: ghost, Value: bytes.Clone(value)}}
			}
			return nil
		})
		if err != nil {
			s.t.Errorf("read a store: %v", err)
		}
		store.Save(id, lost, at)
		done = done || len(lost) > 0
	}
	return done
}

// openStore opens a store that no process uses.
func (s *simulation) openStore(dir string) (*state.Store, error) {
	found, err := s.admin.Metadata(s.t.Context(), topics.Changelog)
	if err != nil {
		return nil, err
	}
	id := found.Topics[topics.Changelog].ID
	return state.Open(filepath.Clean(dir), state.Identity{
		ClusterID: found.Cluster, TopicID: base64.RawURLEncoding.EncodeToString(id[:]),
	}, state.Options{MemTableBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
}

// copyOf copies a directory as it is while nothing moves.
func (s *simulation) copyOf(dir string) string {
	<-s.still
	defer func() { s.still <- struct{}{} }()
	synctest.Wait()
	to := s.newDir()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inner, err := filepath.Rel(dir, path)
		if err != nil || d.Name() == "probe" {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, inner), 0o755)
		}
		return copyFile(path, filepath.Join(to, inner))
	})
	if err != nil {
		s.t.Errorf("copy %s: %v", dir, err)
	}
	return to
}

const block = 4096

// copyFile copies a file and keeps its holes. Of a value log, to which nothing is ever written, it copies the head.
func copyFile(from, to string) error {
	if filepath.Ext(from) == ".vlog" {
		return copyHead(from, to)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	zero := [block]byte{}
	for at := 0; at < len(text); at += block {
		part := text[at:min(at+block, len(text))]
		if string(part) == string(zero[:len(part)]) {
			continue
		}
		if _, err := out.WriteAt(part, int64(at)); err != nil {
			return err
		}
	}
	return out.Truncate(int64(len(text)))
}

func copyHead(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, min(block, info.Size()))
	if _, err := io.ReadFull(in, head); err != nil {
		return err
	}
	if err := os.WriteFile(to, head, 0o644); err != nil {
		return err
	}
	return os.Truncate(to, info.Size())
}

// logHead is how many bytes stand before the entries of a log of Badger.
const logHead = 20

// damage overwrites some bytes of a table or a log, and tells whether there was one. It leaves alone what makes Badger
// fail while it opens: it then leaves goroutines behind, for which virtual time waits for ever.
func (s *simulation) damage(dir string, pick uint64) bool {
	rng := rand.New(rand.NewPCG(pick, 0))
	var files []string
	for _, pattern := range []string{"*.sst", "*.mem"} {
		found, err := filepath.Glob(filepath.Join(dir, "badger", pattern))
		if err != nil {
			s.t.Errorf("look for %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return false
	}
	path := choose(rng, files)
	text, err := os.ReadFile(path)
	used := len(text)
	for used > 0 && text[used-1] == 0 {
		used--
	}
	if err != nil || used <= logHead {
		return false
	}
	for range 1 + rng.IntN(20) {
		text[logHead+rng.IntN(used-logHead)] ^= byte(1 + rng.IntN(255))
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		s.t.Errorf("damage %s: %v", path, err)
	}
	return true
}

// inMemory is where files are kept in memory, on systems that have it. Thousands of small stores are written and synced
// there in half the time.
const inMemory = "/dev/shm"

// newDir makes a directory for a store, which is removed at the end of the test.
func (s *simulation) newDir() string {
	dir, err := os.MkdirTemp(inMemory, "fusebox-simulation-")
	if err != nil {
		return s.t.TempDir()
	}
	s.t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
