// What the server answers. Generated from package state by: go test ./node/console/page -update

/**
 * @typedef {Object} Verdict
 * @property {string} now
 * @property {string} node
 * @property {string} state
 * @property {string} text
 * @property {string} user
 * @property {Array<Door>} others
 */

/**
 * @typedef {Object} Door
 * @property {string} name
 * @property {string} http
 */

/**
 * @typedef {Object} Overview
 * @property {string} now
 * @property {string} node
 * @property {string} state
 * @property {string} text
 * @property {Array<Attention>} attention
 * @property {Array<Attention>} lately
 * @property {Array<Node>} nodes
 * @property {Array<Task>} tasks
 * @property {Object<string, number>} jobs
 * @property {number} failing
 * @property {number} databases
 * @property {string} [read]
 * @property {Array<Event>} events
 * @property {Array<Absent>} absent
 */

/**
 * @typedef {Object} Attention
 * @property {string} severity
 * @property {string} text
 * @property {string} [node]
 * @property {string} [link]
 * @property {string} [since]
 * @property {Story} [story]
 */

/**
 * @typedef {Object} Node
 * @property {string} name
 * @property {string} state
 * @property {boolean} [given_up]
 * @property {string} text
 * @property {boolean} self
 * @property {string} http
 * @property {string} sql
 * @property {string} gossip
 * @property {string} version
 * @property {Array<string>} roles
 * @property {string} [last_answer]
 * @property {string} [engine]
 * @property {string} [started]
 * @property {number} [skew]
 * @property {Array<string>} [reasons]
 * @property {Array<Skips>} [skips]
 * @property {number} [skipping]
 * @property {number} [unread]
 * @property {string} [store]
 * @property {string} [log_level]
 * @property {string} [log_until]
 * @property {Object<string, number>} [now]
 * @property {Object<string, Line>} [lines]
 */

/**
 * @typedef {Object} Database
 * @property {string} name
 * @property {number} [docs]
 * @property {number} [deleted]
 * @property {number} [bytes]
 * @property {number} [shards]
 * @property {number} [indexes]
 * @property {string} [error]
 * @property {number} writes
 * @property {number} refused
 * @property {number} reads
 * @property {number} feed
 * @property {Line} [write_line]
 * @property {Line} [feed_line]
 */

/**
 * @typedef {Object} Shard
 * @property {string} node
 * @property {string} database
 * @property {string} shard
 * @property {string} owner
 * @property {string} state
 * @property {string} seq
 * @property {number} listeners
 * @property {number} upkeep
 * @property {number} followers
 * @property {number} wakes
 * @property {number} lag
 * @property {string} [error]
 */

/**
 * @typedef {Object} Index
 * @property {string} database
 * @property {string} design
 * @property {Array<string>} views
 * @property {number} rows
 * @property {number} bytes
 * @property {number} errors
 * @property {string} [skipped]
 * @property {boolean} building
 * @property {boolean} current
 * @property {number} lag
 * @property {Task} [task]
 * @property {Array<string>} [nodes]
 * @property {number} [failures]
 * @property {string} [failure]
 */

/**
 * @typedef {Object} Task
 * @property {string} node
 * @property {string} type
 * @property {string} database
 * @property {string} [design]
 * @property {string} [shard]
 * @property {number} progress
 * @property {number} done
 * @property {number} total
 * @property {number} rows
 * @property {number} rate
 * @property {number} [left]
 * @property {string} started
 * @property {string} [error]
 * @property {Object} [raw]
 */

/**
 * @typedef {Object} Job
 * @property {string} type
 * @property {string} id
 * @property {string} [database]
 * @property {string} [design]
 * @property {string} state
 * @property {string} [worker]
 * @property {number} token
 * @property {number} failures
 * @property {string} [error]
 * @property {string} [failed_at]
 * @property {boolean} [advanced]
 * @property {string} [due]
 * @property {string} [updated]
 * @property {string} [created]
 * @property {number} [lease]
 */

/**
 * @typedef {Object} Replication
 * @property {string} [id]
 * @property {string} state
 * @property {string} source
 * @property {string} target
 * @property {string} [database]
 * @property {string} [document]
 * @property {string} [user]
 * @property {string} [node]
 * @property {boolean} continuous
 * @property {string} [started]
 * @property {string} [changed]
 * @property {number} read
 * @property {number} written
 * @property {number} failed
 * @property {number} [pending]
 * @property {number} errors
 * @property {string} [error]
 */

/**
 * @typedef {Object} Actor
 * @property {string} node
 * @property {string} id
 * @property {string} [parent]
 * @property {string} kind
 * @property {string} name
 * @property {string} state
 * @property {string} since
 * @property {number} mailbox
 * @property {number} restarts
 * @property {number} recent
 * @property {string} [last_failure]
 * @property {string} [last_failure_at]
 * @property {Object} [facts]
 * @property {number} [below]
 * @property {number} [unwell]
 */

/**
 * @typedef {Object} Session
 * @property {string} node
 * @property {number} pid
 * @property {string} user
 * @property {string} database
 * @property {string} application
 * @property {string} remote
 * @property {boolean} tls
 * @property {string} state
 * @property {string} statement
 * @property {boolean} [cut]
 * @property {string} since
 * @property {string} [began]
 * @property {number} rows
 * @property {number} [returned]
 * @property {number} [examined]
 * @property {string} [plan]
 */

/**
 * @typedef {Object} EventPage
 * @property {string} now
 * @property {Array<Event>} events
 * @property {Array<Story>} stories
 * @property {string} next
 * @property {string} [since]
 * @property {Array<Absent>} absent
 */

/**
 * @typedef {Object} Event
 * @property {string} id
 * @property {string} at
 * @property {string} node
 * @property {string} kind
 * @property {string} severity
 * @property {string} text
 * @property {string} [member]
 * @property {string} [database]
 * @property {string} [object]
 * @property {string} [job]
 * @property {string} [actor]
 * @property {string} [user]
 * @property {string} [address]
 * @property {string} [from]
 * @property {string} [to]
 * @property {number} [token]
 * @property {string} [part]
 * @property {string} [since]
 * @property {number} [seconds]
 * @property {Array<string>} [items]
 * @property {number} [count]
 * @property {number} [examined]
 * @property {number} [repeated]
 * @property {string} [until]
 * @property {string} [detail]
 * @property {Array<string>} [also]
 */

/**
 * @typedef {Object} Story
 * @property {string} id
 * @property {string} title
 * @property {string} severity
 * @property {boolean} over
 * @property {string} [member]
 * @property {Array<string>} [stores]
 * @property {string} began
 * @property {string} ended
 * @property {string} text
 * @property {Array<StoryLine>} lines
 */

/**
 * @typedef {Object} StoryLine
 * @property {string} at
 * @property {number} after
 * @property {string} text
 * @property {Array<string>} nodes
 * @property {string} [until]
 * @property {Array<string>} [jobs]
 */

/**
 * @typedef {Object} Absent
 * @property {string} node
 * @property {string} [since]
 * @property {string} reason
 */

/**
 * @typedef {Object} Plots
 * @property {number} start
 * @property {number} step
 * @property {Array<Plot>} plots
 * @property {Array<Absent>} absent
 */

/**
 * @typedef {Object} Plot
 * @property {string} name
 * @property {string} title
 * @property {string} unit
 * @property {string} how
 * @property {Array<PlotLine>} nodes
 * @property {Array<?number>} all
 */

/**
 * @typedef {Object} PlotLine
 * @property {string} node
 * @property {Array<?number>} values
 */

/**
 * @typedef {Object} Line
 * @property {number} top
 * @property {string} heights
 */

/**
 * @typedef {Object} Series
 * @property {string} name
 * @property {string} title
 * @property {string} unit
 * @property {string} how
 */

/**
 * @typedef {Object} Storage
 * @property {string} node
 * @property {string} engine
 * @property {string} [error]
 * @property {number} [free]
 * @property {number} [size]
 * @property {number} [commits]
 * @property {number} [conflicts]
 * @property {number} [retries]
 * @property {number} [p50]
 * @property {number} [p99]
 * @property {Array<string>} reasons
 * @property {Compaction} compaction
 */

/**
 * @typedef {Object} StoreCluster
 * @property {string} at
 * @property {boolean} available
 * @property {string} health
 * @property {string} [description]
 * @property {string} redundancy
 * @property {string} engine
 * @property {number} processes
 * @property {number} machines
 * @property {number} coordinators
 * @property {number} reachable
 * @property {number} [spare_data]
 * @property {number} [spare_access]
 * @property {number} [data]
 * @property {number} [disk]
 * @property {number} [moving]
 * @property {number} [free]
 * @property {number} [start]
 * @property {number} [read]
 * @property {number} [commit]
 * @property {number} [started]
 * @property {number} [committed]
 * @property {number} [conflicted]
 * @property {string} limit
 * @property {number} [lag]
 * @property {Array<string>} [messages]
 */

/**
 * @typedef {Object} Compaction
 * @property {boolean} auto
 * @property {number} runs
 * @property {number} failures
 * @property {number} bodies
 * @property {number} bytes
 * @property {string} [last_error]
 * @property {string} [last_at]
 * @property {number} queue
 * @property {Array<Compactable>} waiting
 * @property {number} [more_waiting]
 */

/**
 * @typedef {Object} Compactable
 * @property {string} database
 * @property {number} bodies
 * @property {number} bytes
 * @property {number} oldest
 * @property {boolean} asked
 */

/**
 * @typedef {Object} Scripts
 * @property {string} node
 * @property {number} runtimes
 * @property {number} idle
 * @property {number} most
 * @property {number} running
 * @property {number} paused
 * @property {number} waiting
 * @property {Object<string, number>} limits
 * @property {number} stopped
 * @property {number} refused
 * @property {number} seconds
 * @property {Array<ScriptUse>} databases
 */

/**
 * @typedef {Object} ScriptUse
 * @property {string} database
 * @property {number} seconds
 * @property {number} waiting
 */

/**
 * @typedef {Object} Setting
 * @property {string} name
 * @property {string} value
 * @property {string} default
 * @property {boolean} changed
 * @property {Array<string>} nodes
 */

/**
 * @typedef {Object} SQLLine
 * @property {Array<SQLColumn>} [columns]
 * @property {string} [done]
 * @property {SQLError} [notice]
 * @property {SQLError} [error]
 * @property {string} [more]
 */

/**
 * @typedef {Object} SQLColumn
 * @property {string} name
 * @property {string} type
 */

/**
 * @typedef {Object} SQLError
 * @property {string} code
 * @property {string} message
 * @property {string} [detail]
 * @property {string} [hint]
 * @property {number} [position]
 */

export {};
