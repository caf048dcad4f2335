// Package feeds wakes those who wait for changes (clause C7). The hub has the listeners on this node. For each changes
// shard an actor watches the store, or follows the node that does. The exchange is how nodes coordinate this. The guard
// wakes listeners while actors fail. Listeners read the changes themselves.
package feeds
