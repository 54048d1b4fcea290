// Package object stores Go structs of many tenants, each on its own shards, in the stores of any
// backend: with history, locks, search and reads as of any time.
//
//	config, err := object.ReadConfig("vaults.yaml")
//	vaults, err := object.Open(ctx, config, sqlite.Opener)
//	defer vaults.Close()
//	messages := object.NewSet[Message](vaults, "chat").WithIndexes("sender").Ready()
//
//	acme := messages.Tenant("acme")
//	ctx = object.With(ctx, onto.Draft{Actor: onto.Operator("ana")})
//	err = acme.Insert(ctx, Message{ID: "m1", Chat: "c7", Sender: "ana"})
//	list, err := acme.Select(ctx, object.Where().Key("sender").Equal("ana").Limit(20))
//
// A vault holds the same sets of objects for each of its tenants. A tenant has one or more shards,
// which are stores, listed in a [Config] and made by [Vaults.Init]. An object is stored where its
// shard key belongs: what has the same shard key is in the same store, and is written together by
// [Tenant.Tx].
//
// Reads go to all shards side by side, or to those of the given shard keys, and their answers are
// merged. Writes to several shards commit one by one, see [PartialError].
//
// The guide docs/objects.md tells how objects are stored and compares the package with D4.
package object
