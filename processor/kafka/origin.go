package kafka

// origins are the highest offsets handled of forwarded records, by where they came from. Only topics and partitions of
// this cluster are in it, so it never holds more than twice the number of partitions.
type origins map[originKey]int64

type originKey struct {
	topicID   string
	partition int32
}

func (o origins) list() []origin {
	list := make([]origin, 0, len(o))
	for key, offset := range o {
		list = append(list, origin{key.topicID, key.partition, offset})
	}
	return list
}
