// Package object stores Go structs of many tenants, each on its own shards, in the stores of any
// backend: with history, locks, search and reads as of any time.
//
//	config, err := object.ReadConfig("vaults.yaml") // chat: {acme: [sqlite:///acme-1.db, sqlite:///acme-2.db]}
//	vaults, err := object.Open(ctx, config, sqlite.Opener)
//	letters := object.NewSet[Letter](vaults, "chat").WithIndexes("from").Ready()
//	err = vaults.Init(ctx, "chat", "acme") // once; then the tenant exists
//	defer vaults.Close()
//
//	acme := letters.Tenant("acme")
//	ctx = object.With(ctx, onto.Draft{Actor: onto.Operator("ana")})
//	err = acme.Insert(ctx, Letter{ID: "l1", Chat: "lobby", From: "ana", Text: "Hello"})
//	list, err := acme.Select(ctx, object.Where().Key("from").Equal("ana").OrderByDesc("id").Limit(20))
//
// A vault holds the same sets of objects for each of its tenants. A tenant has one or more shards,
// which are stores, listed in a [Config] and made by [Vaults.Init]. An object is stored where its
// shard key belongs: what has the same shard key is in the same store, and is written together by
// [Tenant.Tx].
//
// Reads go to all shards side by side, or to those of the given shard keys, and their answers are
// merged. Writes to several shards commit one by one, see [PartialError].
//
// The guide docs/objects.md tells how objects are stored.
package object
