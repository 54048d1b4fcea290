package document

import "github.com/ontologia/onto/object"

// ShardName names a shard of a tenant.
type ShardName struct {
	Vault  string  `json:"vault"`
	Tenant string  `json:"tenant"`
	Shard  *string `json:"shard"` // null if the store holds no placement, or it cannot be read
}

// ShardStatus is what is found where a tenant has a shard, or buckets that no shard owns.
type ShardStatus struct {
	ShardName
	Location *string           `json:"location"` // null for buckets that no shard owns
	State    object.ShardState `json:"state"`
	Buckets  int               `json:"buckets"`
	Share    float64           `json:"share"` // of all buckets
	Head     *Head             `json:"head"`
	Bytes    *int64            `json:"bytes"`
	Live     *int64            `json:"live,omitempty"`
	Problem  *string           `json:"problem"`
}

// BucketsUnowned is the state of a row about buckets that no shard owns.
const BucketsUnowned object.ShardState = "missing"

// NewShardStatus describes a shard as a survey has found it.
func NewShardStatus(vault, tenant string, s *object.SurveyedShard) ShardStatus {
	doc := ShardStatus{ShardName: ShardName{vault, tenant, OrNull(s.Name)}, Location: &s.URI, State: s.State}
	doc.own(len(s.Buckets))
	if s.Err != nil {
		text := Message(s.Err)
		doc.Problem = &text
	}
	return doc
}

// NewUnowned describes buckets that no shard owns, and what is wrong with that.
func NewUnowned(vault, tenant string, y *object.Survey) ShardStatus {
	text := Message(y.Err)
	doc := ShardStatus{ShardName: ShardName{Vault: vault, Tenant: tenant}, State: BucketsUnowned, Problem: &text}
	doc.own(y.Unowned)
	return doc
}

func (d *ShardStatus) own(buckets int) {
	d.Buckets, d.Share = buckets, float64(buckets)/object.Buckets
}

// ShardInit is what init does or did with a shard. Created says that it was not made before.
type ShardInit struct {
	ShardName
	Init
}

// TenantExport is what was exported of a tenant.
type TenantExport struct {
	Output  string        `json:"output"`
	Records int64         `json:"records"`
	Shards  []ShardExport `json:"shards"`
}

// ShardExport is what was exported of a shard, and its moment.
type ShardExport struct {
	Shard    string `json:"shard"`
	Records  int64  `json:"records"`
	CommitID int64  `json:"commit_id"`
}

// VaultPlan is the plan of a migration of the tenants of a vault.
type VaultPlan struct {
	Shards []ShardPlan `json:"shards"`
	Token  *string     `json:"token"` // null if a shard cannot be migrated
}

// ShardPlan is the plan for a shard.
type ShardPlan struct {
	ShardName
	Plan    *Plan   `json:"planned"`
	Problem *string `json:"problem"`
}

// VaultMigrated is the result of a migration of the tenants of a vault.
type VaultMigrated struct {
	Shards []ShardMigrated `json:"shards"`
}

// ShardMigrated is the result for a shard.
type ShardMigrated struct {
	ShardName
	Migrated
}

// NewVaultPlan describes the plan of a migration of the tenants of a vault.
func NewVaultPlan(vault string, p *object.MigrationPlan) VaultPlan {
	doc := VaultPlan{Shards: []ShardPlan{}, Token: &p.Token}
	for i := range p.Shards {
		s := &p.Shards[i]
		row := ShardPlan{ShardName: ShardName{vault, s.Tenant, &s.Shard}}
		if s.Err != nil {
			text := Message(s.Err)
			row.Problem, doc.Token = &text, nil
		} else {
			plan := NewPlan(s.Plan)
			row.Plan = &plan
		}
		doc.Shards = append(doc.Shards, row)
	}
	return doc
}

// NewVaultMigrated describes the result of a migration of the tenants of a vault.
func NewVaultMigrated(vault string, p *object.MigrationPlan) VaultMigrated {
	doc := VaultMigrated{Shards: []ShardMigrated{}}
	for i := range p.Shards {
		s := &p.Shards[i]
		doc.Shards = append(doc.Shards, ShardMigrated{ShardName{vault, s.Tenant, &s.Shard}, NewMigrated(s.Result, s.Plan)})
	}
	return doc
}
