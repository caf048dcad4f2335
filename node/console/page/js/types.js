/**
What the server answers. Generated from package state by: go test ./node/console/page -update
@typedef {{now: string, node: string, state: string, text: string, worst?: string, user: string, others: Door[]}}
Verdict
@typedef {{name: string, http: string}} Door
@typedef {{now: string, node: string, state: string, text: string, attention: Attention[], lately: Attention[], nodes:
Node[], tasks: Task[], working: number, jobs: Object<string, number>, failing: number, databases: number, read?: string,
events: Event[], absent: Absent[]}} Overview
@typedef {{severity: string, text: string, node?: string, link?: string, since?: string, story?: Story}} Attention
@typedef {{name: string, state: string, given_up?: boolean, text: string, self: boolean, http: string, sql: string,
gossip: string, version: string, roles: string[], gone_since?: string, last_answer?: string, engine?: string, started?:
string, skew?: number, reasons?: string[], skips?: Skips[], skipping?: number, unread?: number, store?: string,
log_level?: string, log_until?: string, now?: Object<string, number>, lines?: Object<string, Line>}} Node
@typedef {{name: string, docs?: number, deleted?: number, bytes?: number, shards?: number, indexes?: number, error?:
string, writes: number, refused: number, reads: number, feed: number, write_line?: Line, feed_line?: Line}} Database
@typedef {{node: string, database: string, shard: string, owner: string, state: string, seq: string, listeners: number,
upkeep: number, followers: number, wakes: number, lag: number, error?: string}} Shard
@typedef {{database: string, design: string, views: string[], rows: number, bytes: number, errors: number, skipped?:
string, building: boolean, current: boolean, lag: number, task?: Task, nodes?: string[], failures?: number, failure?:
string}} Index
@typedef {{node: string, type: string, database: string, design?: string, shard?: string, progress: number, done:
number, total: number, rows: number, rate: number, left?: number, started: string, error?: string, raw?: Object}} Task
@typedef {{type: string, id: string, database?: string, design?: string, state: string, worker?: string, token: number,
failures: number, error?: string, failed_at?: string, advanced?: boolean, due?: string, updated?: string, created?:
string, lease?: number}} Job
@typedef {{id?: string, state: string, source: string, target: string, database?: string, document?: string, user?:
string, node?: string, continuous: boolean, started?: string, changed?: string, read: number, written: number, failed:
number, pending?: number, errors: number, error?: string}} Replication
@typedef {{node: string, id: string, parent?: string, kind: string, name: string, state: string, since: string, mailbox:
number, restarts: number, recent: number, last_failure?: string, last_failure_at?: string, facts?: Object, below?:
number, unwell?: number}} Actor
@typedef {{node: string, pid: number, user: string, database: string, application: string, remote: string, tls: boolean,
state: string, statement: string, cut?: boolean, since: string, began?: string, rows: number, returned?: number,
examined?: number, plan?: string}} Session
@typedef {{now: string, events: Event[], stories: Story[], next: string, since?: string, absent: Absent[]}} EventPage
@typedef {{id: string, at: string, node: string, kind: string, severity: string, text: string, member?: string,
database?: string, object?: string, job?: string, actor?: string, user?: string, address?: string, from?: string, to?:
string, token?: number, part?: string, since?: string, seconds?: number, items?: string[], count?: number, examined?:
number, repeated?: number, until?: string, detail?: string, also?: string[]}} Event
@typedef {{id: string, title: string, severity: string, over: boolean, member?: string, stores?: string[], began:
string, ended: string, text: string, lines: StoryLine[]}} Story
@typedef {{at: string, after: number, text: string, nodes: string[], until?: string, jobs?: string[]}} StoryLine
@typedef {{node: string, since?: string, reason: string}} Absent
@typedef {{start: number, step: number, plots: Plot[], absent: Absent[]}} Plots
@typedef {{name: string, title: string, unit: string, how: string, nodes: PlotLine[], all: Array<?number>}} Plot
@typedef {{node: string, values: Array<?number>}} PlotLine
@typedef {{top: number, heights: string}} Line
@typedef {{name: string, title: string, unit: string, how: string}} Series
@typedef {{node: string, engine: string, error?: string, free?: number, size?: number, commits?: number, conflicts?:
number, retries?: number, p50?: number, p99?: number, reasons: string[], compaction: Compaction}} Storage
@typedef {{at: string, available: boolean, health: string, description?: string, redundancy: string, engine: string,
processes: number, machines: number, coordinators: number, reachable: number, spare_data?: number, spare_access?:
number, data?: number, disk?: number, moving?: number, free?: number, start?: number, read?: number, commit?: number,
started?: number, committed?: number, conflicted?: number, limit: string, lag?: number, messages?: string[]}}
StoreCluster
@typedef {{auto: boolean, runs: number, failures: number, bodies: number, bytes: number, last_error?: string, last_at?:
string, queue: number, waiting: Compactable[], more_waiting?: number}} Compaction
@typedef {{database: string, bodies: number, bytes: number, oldest: number, asked: boolean}} Compactable
@typedef {{node: string, runtimes: number, idle: number, most: number, running: number, paused: number, waiting: number,
limits: Object<string, number>, stopped: number, refused: number, seconds: number, databases: ScriptUse[]}} Scripts
@typedef {{database: string, seconds: number, waiting: number}} ScriptUse
@typedef {{name: string, value: string, default: string, changed: boolean, nodes: string[]}} Setting
@typedef {{columns?: SQLColumn[], done?: string, notice?: SQLError, error?: SQLError, more?: string}} SQLLine
@typedef {{name: string, type: string}} SQLColumn
@typedef {{code: string, message: string, detail?: string, hint?: string, position?: number}} SQLError
*/
export {};
