package joins

// PostgreSQL's settings that make the planner avoid a strategy. It is still used where there is no other.
const (
	HashJoinSetting  = "enable_hashjoin"
	IndexScanSetting = "enable_indexscan"
	MemoizeSetting   = "enable_memoize"
	NestLoopSetting  = "enable_nestloop"
)
