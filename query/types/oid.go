// Package types implements PostgreSQL's value types: their OIDs, values, text and binary forms, casts and comparisons.
// It follows PostgreSQL 15 with two exceptions: text compares by bytes (the C collation, which is also the order of
// CouchDB's ids), and a jsonb keeps its text and compares by CouchDB's collation. The calendar is in package datetime.
package types

// OID is the object identifier of a type.
type OID uint32

// The types of expressions and results. The numbers are PostgreSQL's and never change.
const (
	Bool       OID = 16
	Bytea      OID = 17
	Char       OID = 18 // "char", one byte
	Name       OID = 19
	Int8       OID = 20
	Int2       OID = 21
	Int2Vector OID = 22
	Int4       OID = 23
	RegProc    OID = 24
	Text       OID = 25
	Oid        OID = 26
	Tid        OID = 27
	Xid        OID = 28
	Cid        OID = 29
	Xid8       OID = 5069 // like pg_lsn, ordered without a sign: see NewUnsigned
	PgLSN      OID = 3220
	OidVector  OID = 30
	JSON       OID = 114
	PgNodeTree OID = 194
	Float4     OID = 700
	Float8     OID = 701
	Unknown    OID = 705
	BPChar     OID = 1042
	VarChar    OID = 1043
	Date       OID = 1082
	Time       OID = 1083
	TimeTZ     OID = 1266
	// JSONPathType is the type jsonpath.
	JSONPathType OID = 4072
	Timestamp    OID = 1114
	TimestampTZ  OID = 1184
	Interval     OID = 1186
	Numeric      OID = 1700
	RegProcedur  OID = 2202
	RegOper      OID = 2203
	RegOperator  OID = 2204
	RegConfig    OID = 3734
	RegColl      OID = 4191
	RegClass     OID = 2205
	RegType      OID = 2206
	Record       OID = 2249
	AnyArray     OID = 2277
	Void         OID = 2278
	UUID         OID = 2950
	JSONB        OID = 3802
	RegNS        OID = 4089
	RegRole      OID = 4096
	AclItem      OID = 1033

	BoolArray        OID = 1000
	ByteaArray       OID = 1001
	CharArray        OID = 1002
	NameArray        OID = 1003
	Int2Array        OID = 1005
	Int4Array        OID = 1007
	TextArray        OID = 1009
	Int8Array        OID = 1016
	Float4Array      OID = 1021
	Float8Array      OID = 1022
	OidArray         OID = 1028
	AclItemArray     OID = 1034
	VarCharArray     OID = 1015
	BPCharArray      OID = 1014
	JSONArray        OID = 199
	JSONBArray       OID = 3807
	NumericArray     OID = 1231
	DateArray        OID = 1182
	TimeArray        OID = 1183
	TimeTZArray      OID = 1270
	TimestampArray   OID = 1115
	TimestampTZArray OID = 1185
	IntervalArray    OID = 1187
	RecordArray      OID = 2287
	UUIDArray        OID = 2951
	Xid8Array        OID = 271
	PgLSNArray       OID = 3221
	RegClassArray    OID = 2210
	RegTypeArray     OID = 2211
	RegProcArray     OID = 1008
)

// Info describes a type, like a row of pg_type.
type Info struct {
	OID      OID
	Name     string // pg_type.typname
	SQLName  string // as returned by format_type
	Len      int16  // pg_type.typlen
	Category byte   // pg_type.typcategory
	Prefer   bool   // pg_type.typispreferred
	Kind     Kind   // representation in a Datum
	Elem     OID    // element type of an array
	Array    OID    // the array type of this type, or 0
	Align    byte
	ByVal    bool
}

// infos is in the order of PostgreSQL's documentation; pg_type is built from it.
var infos = []Info{
	{Bool, "bool", "boolean", 1, 'B', true, KBool, 0, BoolArray, 'c', true},
	{Bytea, "bytea", "bytea", -1, 'U', false, KBytes, 0, ByteaArray, 'i', false},
	{Char, "char", `"char"`, 1, 'Z', false, KText, 0, CharArray, 'c', true},
	{Name, "name", "name", 64, 'S', false, KText, 0, NameArray, 'c', false},
	{Int8, "int8", "bigint", 8, 'N', false, KInt, 0, Int8Array, 'd', true},
	{Int2, "int2", "smallint", 2, 'N', false, KInt, 0, Int2Array, 's', true},
	{Int2Vector, "int2vector", "int2vector", -1, 'A', false, KArray, Int2, 0, 'i', false},
	{Int4, "int4", "integer", 4, 'N', false, KInt, 0, Int4Array, 'i', true},
	{RegProc, "regproc", "regproc", 4, 'N', false, KInt, 0, RegProcArray, 'i', true},
	{Text, "text", "text", -1, 'S', true, KText, 0, TextArray, 'i', false},
	{Oid, "oid", "oid", 4, 'N', true, KInt, 0, OidArray, 'i', true},
	{Tid, "tid", "tid", 6, 'U', false, KInt, 0, 1010, 's', false},
	{Xid, "xid", "xid", 4, 'U', false, KInt, 0, 1011, 'i', true},
	{Cid, "cid", "cid", 4, 'U', false, KInt, 0, 1012, 'i', true},
	{Xid8, "xid8", "xid8", 8, 'U', false, KInt, 0, Xid8Array, 'd', true},
	{PgLSN, "pg_lsn", "pg_lsn", 8, 'U', false, KInt, 0, PgLSNArray, 'd', true},
	{OidVector, "oidvector", "oidvector", -1, 'A', false, KArray, Oid, 0, 'i', false},
	{JSON, "json", "json", -1, 'U', false, KJSON, 0, JSONArray, 'i', false},
	{PgNodeTree, "pg_node_tree", "pg_node_tree", -1, 'Z', false, KText, 0, 0, 'i', false},
	{Float4, "float4", "real", 4, 'N', false, KFloat, 0, Float4Array, 'i', true},
	{Float8, "float8", "double precision", 8, 'N', true, KFloat, 0, Float8Array, 'd', true},
	{Unknown, "unknown", "unknown", -2, 'X', false, KText, 0, 0, 'c', false},
	{BPChar, "bpchar", "character", -1, 'S', false, KText, 0, BPCharArray, 'i', false},
	{VarChar, "varchar", "character varying", -1, 'S', false, KText, 0, VarCharArray, 'i', false},
	{Date, "date", "date", 4, 'D', false, KDate, 0, DateArray, 'i', true},
	{Time, "time", "time without time zone", 8, 'D', false, KClock, 0, TimeArray, 'd', true},
	{TimeTZ, "timetz", "time with time zone", 12, 'D', false, KZonedClock, 0, TimeTZArray, 'd', false},
	{Timestamp, "timestamp", "timestamp without time zone", 8, 'D', false, KTime, 0, TimestampArray, 'd', true},
	{TimestampTZ, "timestamptz", "timestamp with time zone", 8, 'D', true, KTime, 0, TimestampTZArray, 'd', true},
	{Interval, "interval", "interval", 16, 'T', true, KInterval, 0, IntervalArray, 'd', false},
	{Numeric, "numeric", "numeric", -1, 'N', false, KNumeric, 0, NumericArray, 'i', false},
	{RegProcedur, "regprocedure", "regprocedure", 4, 'N', false, KInt, 0, 2207, 'i', true},
	{RegClass, "regclass", "regclass", 4, 'N', false, KInt, 0, RegClassArray, 'i', true},
	{RegType, "regtype", "regtype", 4, 'N', false, KInt, 0, RegTypeArray, 'i', true},
	{Record, "record", "record", -1, 'P', false, KRecord, 0, RecordArray, 'd', false},
	{AnyArray, "anyarray", "anyarray", -1, 'P', false, KArray, 0, 0, 'd', false},
	{2275, "cstring", "cstring", -2, 'P', false, KText, 0, 0, 'c', false},
	{2276, "any", `"any"`, 4, 'P', false, KText, 0, 0, 'i', true},
	{2279, "trigger", "trigger", 4, 'P', false, KText, 0, 0, 'i', true},
	{2283, "anyelement", "anyelement", 4, 'P', false, KText, 0, 0, 'i', true},
	{5077, "anycompatible", "anycompatible", 4, 'P', false, KText, 0, 0, 'i', true},
	{5078, "anycompatiblearray", "anycompatiblearray", -1, 'P', false, KArray, 0, 0, 'd', false},
	{3838, "event_trigger", "event_trigger", 4, 'P', false, KText, 0, 0, 'i', true},
	{Void, "void", "void", 4, 'P', false, KText, 0, 0, 'i', true},
	{JSONPathType, "jsonpath", "jsonpath", -1, 'U', false, KText, 0, 4073, 'i', false},
	{UUID, "uuid", "uuid", 16, 'U', false, KText, 0, UUIDArray, 'c', false},
	{JSONB, "jsonb", "jsonb", -1, 'U', false, KJSON, 0, JSONBArray, 'i', false},
	{RegOper, "regoper", "regoper", 4, 'N', false, KInt, 0, 2208, 'i', true},
	{RegOperator, "regoperator", "regoperator", 4, 'N', false, KInt, 0, 2209, 'i', true},
	{RegConfig, "regconfig", "regconfig", 4, 'N', false, KInt, 0, 3735, 'i', true},
	{RegColl, "regcollation", "regcollation", 4, 'N', false, KInt, 0, 4192, 'i', true},
	{RegNS, "regnamespace", "regnamespace", 4, 'N', false, KInt, 0, 4090, 'i', true},
	{RegRole, "regrole", "regrole", 4, 'N', false, KInt, 0, 4097, 'i', true},
	{AclItem, "aclitem", "aclitem", 12, 'U', false, KText, 0, AclItemArray, 'i', false},
}

var (
	byOID  = map[OID]*Info{}
	byName = map[string]OID{}
)

func init() {
	for i, n := 0, len(infos); i < n; i++ {
		t := infos[i]
		if t.Array != 0 {
			category := byte('A')
			if t.Category == 'P' {
				category = 'P' // record[]
			}
			infos = append(infos,
				Info{OID: t.Array, Name: "_" + t.Name, SQLName: t.SQLName + "[]", Len: -1, Category: category,
					Kind: KArray, Elem: t.OID, Align: arrayAlign(t.Align)})
		}
	}
	for i := range infos {
		byOID[infos[i].OID] = &infos[i]
		byName[infos[i].Name] = infos[i].OID
	}
	// Names that the SQL grammar has in addition to those of pg_type.
	for alias, oid := range map[string]OID{"boolean": Bool, "bigint": Int8, "smallint": Int2, "integer": Int4,
		"int": Int4, "real": Float4,
		"double precision": Float8, "float": Float8, "decimal": Numeric, "dec": Numeric, "character varying": VarChar,
		"character":                BPChar,
		"timestamp with time zone": TimestampTZ, "timestamp without time zone": Timestamp,
		"time without time zone": Time,
		"time with time zone":    TimeTZ} {
		byName[alias] = oid
	}
}

func arrayAlign(elem byte) byte {
	if elem == 'd' {
		return 'd'
	}
	return 'i'
}

// All returns every type in a fixed order. The slice must not be changed.
func All() []Info { return infos }

// Lookup returns the description of a type, nil for an unknown OID.
func Lookup(oid OID) *Info { return byOID[oid] }

// ByName finds a type by its name in pg_type or in SQL, in lower case.
func ByName(name string) (OID, bool) {
	oid, ok := byName[name]
	return oid, ok
}

// KindOf returns the representation of values of a type. Unknown types are text.
func KindOf(oid OID) Kind {
	if t := byOID[oid]; t != nil {
		return t.Kind
	}
	return KText
}

// NameOf returns the name used in messages, as format_type returns it.
func NameOf(oid OID) string {
	if t := byOID[oid]; t != nil {
		return t.SQLName
	}
	return "???"
}

// ElemOf returns the element type of an array type, 0 for other types.
func ElemOf(oid OID) OID {
	if t := byOID[oid]; t != nil {
		return t.Elem
	}
	return 0
}

// ArrayOf returns the array type of an element type, or 0.
func ArrayOf(oid OID) OID {
	if t := byOID[oid]; t != nil {
		return t.Array
	}
	return 0
}

// IsString reports whether a type is text, varchar, char(n), name, "char" or unknown (an untyped literal).
func IsString(oid OID) bool {
	switch oid {
	case Text, VarChar, BPChar, Name, Unknown, Char:
		return true
	}
	return false
}

// IsNumber reports whether a type is numeric. oid and the reg types are not.
func IsNumber(oid OID) bool {
	switch oid {
	case Int2, Int4, Int8, Float4, Float8, Numeric:
		return true
	}
	return false
}

// IsInteger reports whether a type is int2, int4 or int8.
func IsInteger(oid OID) bool { return oid == Int2 || oid == Int4 || oid == Int8 }

// IsOid reports whether values of a type are 32 bits without a sign: oid, the reg types, xid and cid.
func IsOid(oid OID) bool { return oid == Oid || oid == Xid || oid == Cid || IsReg(oid) }

// IsReg reports whether a type is one of the reg types, whose values are OIDs that are shown by name.
func IsReg(oid OID) bool {
	switch oid {
	case RegProc, RegProcedur, RegOper, RegOperator, RegConfig, RegColl, RegClass, RegType, RegNS, RegRole:
		return true
	}
	return false
}

// IsJSON reports whether a type is json or jsonb.
func IsJSON(oid OID) bool { return oid == JSON || oid == JSONB }
