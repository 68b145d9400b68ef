package main

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	batchPrefix = 12 // Bytes of a batch before those that its length counts: offset and length.
	indexEntry  = 15 // Bytes of the index file about one batch.
	inTx        = 14 // The one that tells whether it was written in a transaction, and is no end of one.
)

// cutTail cuts off the newest segment of a partition what is not whole: batches without an entry in the index, and
// then batches of a transaction that nothing follows, so that it has no end.
func cutTail(partition string) error {
	segment, err := newestSegment(partition)
	if err != nil || segment == "" {
		return err
	}
	index, err := os.ReadFile(strings.TrimSuffix(segment, ".dat") + ".idx")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(segment, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	starts, err := batchStarts(file)
	if err == nil {
		keep := min(len(starts), len(index)/indexEntry)
		for keep > 0 && index[(keep-1)*indexEntry+inTx] != 0 {
			keep--
		}
		if keep < len(starts) {
			err = file.Truncate(starts[keep])
		}
	}
	return errors.Join(err, file.Close())
}

// newestSegment returns the segment file with the highest first offset, "" where there is none.
func newestSegment(partition string) (string, error) {
	segments, err := filepath.Glob(filepath.Join(partition, "*.dat"))
	if err != nil {
		return "", err
	}
	newest, at := "", int64(-1)
	for _, name := range segments {
		base, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(name), ".dat"), 10, 64)
		if err == nil && base > at {
			newest, at = name, base
		}
	}
	return newest, nil
}

// batchStarts returns where the whole batches of a segment file start, which is in Kafka's own form.
func batchStarts(file *os.File) ([]int64, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	var starts []int64
	prefix := make([]byte, batchPrefix)
	for at := int64(0); at+batchPrefix <= info.Size(); {
		if _, err := file.ReadAt(prefix, at); err != nil {
			return nil, err
		}
		next := at + batchPrefix + int64(binary.BigEndian.Uint32(prefix[8:]))
		if next > info.Size() {
			break
		}
		starts = append(starts, at)
		at = next
	}
	return starts, nil
}
