// Package sqlstate defines the error type of the SQL gateway and the error codes in use (PostgreSQL 15, Appendix A).
// The code that finds a fault chooses its SQLSTATE; package pgwire sends it. docs/errors.md lists them.
package sqlstate

import (
	"context"
	"errors"
	"fmt"
)

// Code is a five-character SQLSTATE.
type Code string

// The codes that Divan uses.
const (
	Warning                    Code = "01000"
	FeatureNotSupported        Code = "0A000"
	ProtocolViolation          Code = "08P01"
	DivisionByZero             Code = "22012"
	NumericOutOfRange          Code = "22003"
	InvalidDatetimeFormat      Code = "22007"
	InvalidParameterValue      Code = "22023"
	InvalidRegularExpression   Code = "2201B"
	InvalidRowCountInLimit     Code = "2201W"
	InvalidRowCountInOffset    Code = "2201X"
	InvalidTextRepresentation  Code = "22P02"
	InvalidBinaryFormat        Code = "22P03"
	CharacterNotInRepertoire   Code = "22021"
	UntranslatableCharacter    Code = "22P05"
	InvalidEscapeSequence      Code = "22025"
	NullNotAllowed             Code = "22004"
	ArraySubscriptError        Code = "2202E"
	StringTooLong              Code = "22001"
	DatetimeOverflow           Code = "22008"
	InvalidZoneDisplacement    Code = "22009"
	InvalidUseOfEscape         Code = "2200C"
	SubstringError             Code = "22011"
	InvalidFrameSize           Code = "22013"
	InvalidNtile               Code = "22014"
	IntervalOverflow           Code = "22015"
	InvalidNthValue            Code = "22016"
	InvalidLogarithm           Code = "2201E"
	InvalidPower               Code = "2201F"
	InvalidWidthBucket         Code = "2201G"
	InvalidJSONDatetime        Code = "22031"
	InvalidJSONSubscript       Code = "22033"
	NonNumericJSONItem         Code = "22036"
	SingletonJSONItem          Code = "22038"
	JSONArrayNotFound          Code = "22039"
	JSONMemberNotFound         Code = "2203A"
	JSONNumberNotFound         Code = "2203B"
	JSONObjectNotFound         Code = "2203C"
	DeadlockDetected           Code = "40P01"
	CardinalityViolation       Code = "21000"
	NotNullViolation           Code = "23502"
	UniqueViolation            Code = "23505"
	CheckViolation             Code = "23514"
	GeneratedAlways            Code = "428C9"
	BadCopyFormat              Code = "22P04"
	ReadOnlyTransaction        Code = "25006"
	TransactionTimeout         Code = "25P04"
	CommitUnknown              Code = "08007"
	ActiveTransaction          Code = "25001"
	NoActiveTransaction        Code = "25P01"
	InFailedTransaction        Code = "25P02"
	InvalidStatementName       Code = "26000"
	InvalidAuthorization       Code = "28000"
	InvalidPassword            Code = "28P01"
	InvalidCursorName          Code = "34000"
	InvalidCatalogName         Code = "3D000"
	InvalidSavepoint           Code = "3B001"
	InvalidSchemaName          Code = "3F000"
	InsufficientPrivilege      Code = "42501"
	SyntaxError                Code = "42601"
	InvalidName                Code = "42602"
	NameTooLong                Code = "42622"
	DuplicateAlias             Code = "42712"
	DuplicateCursor            Code = "42P03"
	DuplicateStatement         Code = "42P05"
	AmbiguousColumn            Code = "42702"
	DuplicateColumn            Code = "42701"
	AmbiguousFunction          Code = "42725"
	AmbiguousAlias             Code = "42P09"
	UndefinedColumn            Code = "42703"
	UndefinedFunction          Code = "42883"
	UndefinedTable             Code = "42P01"
	InvalidObjectDefinition    Code = "42P17"
	UndefinedParameter         Code = "42P02"
	UndefinedObject            Code = "42704"
	GroupingError              Code = "42803"
	WindowingError             Code = "42P20"
	DatatypeMismatch           Code = "42804"
	CollationMismatch          Code = "42P21"
	IndeterminateCollation     Code = "42P22"
	IndeterminateDatatype      Code = "42P18"
	CannotCoerce               Code = "42846"
	InvalidColumnReference     Code = "42P10"
	InvalidRecursion           Code = "42P19"
	WrongObjectType            Code = "42809"
	InvalidCursorDefinition    Code = "42P11"
	TransactionRollback        Code = "40000"
	SerializationFailure       Code = "40001"
	SnapshotTooOld             Code = "72000"
	IdleInTransactionTimeout   Code = "25P03"
	DiskFull                   Code = "53100"
	OutOfMemory                Code = "53200"
	TooManyConnections         Code = "53300"
	ConfigurationLimitExceeded Code = "53400"
	IOError                    Code = "58030"
	ProgramLimitExceeded       Code = "54000"
	StatementTooComplex        Code = "54001"
	TooManyColumns             Code = "54011"
	TooManyArguments           Code = "54023"
	ObjectNotInPrerequisite    Code = "55000"
	CantChangeParameter        Code = "55P02"
	LockNotAvailable           Code = "55P03"
	QueryCanceled              Code = "57014"
	AdminShutdown              Code = "57P01"
	CannotConnectNow           Code = "57P03"
	InternalError              Code = "XX000"
)

// Error is what a client sees as an ErrorResponse or a NoticeResponse.
type Error struct {
	Code    Code
	Message string // lower case, no full stop, as PostgreSQL writes it
	Detail  string
	Hint    string
	// Context says where the error occurred, such as in which line of a value.
	Context string
	// Pos is the byte offset of the error in the text of the query plus one; 0 means no position. The protocol counts
	// characters: package query converts.
	Pos int
	// Object is what a violated constraint belongs to.
	Object Object
	Err    error // the cause, for the log only
}

func (e *Error) Error() string {
	if e.Hint != "" {
		return fmt.Sprintf("%s (SQLSTATE %s; %s)", e.Message, e.Code, e.Hint)
	}
	return fmt.Sprintf("%s (SQLSTATE %s)", e.Message, e.Code)
}

func (e *Error) Unwrap() error { return e.Err }

// New returns an Error.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// At sets the position from a 0-based byte offset and returns e. A negative offset leaves e as it is.
func (e *Error) At(offset int) *Error {
	if offset >= 0 {
		e.Pos = offset + 1
	}
	return e
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithDetail sets the detail and returns e.
func (e *Error) WithDetail(format string, args ...any) *Error {
	e.Detail = fmt.Sprintf(format, args...)
	return e
}

// Within returns e with a further line of its context.
func (e *Error) Within(format string, args ...any) *Error {
	out := *e
	if out.Context != "" {
		out.Context += "\n"
	}
	out.Context += fmt.Sprintf(format, args...)
	return &out
}

// Unsupported returns the error for something that PostgreSQL supports and Divan does not.
func Unsupported(offset int, hint, format string, args ...any) *Error {
	return (&Error{Code: FeatureNotSupported, Message: fmt.Sprintf(format, args...), Hint: hint}).At(offset)
}

// From returns err as an *Error: the one in its chain if there is one, a cancellation if a context ended, otherwise an
// internal error.
func From(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: QueryCanceled, Message: "canceling statement due to statement timeout", Err: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: QueryCanceled, Message: "canceling statement due to user request", Err: err}
	}
	return &Error{Code: InternalError, Message: "internal error: " + err.Error(), Err: err}
}

// Locate returns err with a position if it is an *Error without one. It copies the error, because the errors of
// constants are shared.
func Locate(err error, offset int) error {
	var e *Error
	if !errors.As(err, &e) || e.Pos != 0 || offset < 0 {
		return err
	}
	c := *e
	c.Pos = offset + 1
	return &c
}
