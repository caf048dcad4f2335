// Package feeds wakes those who wait for changes (clause C7): the hub knows who listens on this node, an actor for each
// changes shard watches the store, or follows the node that does, and the exchange is what nodes tell each other about
// that. The guard wakes listeners while actors fail. What has changed is read by those who are woken.
package feeds
