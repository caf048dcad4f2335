package datetime

import (
	"slices"
	"strings"
	"time"
)

// The zone abbreviations that PostgreSQL accepts by default (its timezonesets/Default): those with a fixed offset, by
// seconds east of UTC, and those whose offset is taken from a place because its meaning has changed.
var (
	offsetAbbrevs = map[int]string{
		-36000: `hst taht`,
		-34200: `mart`,
		-32400: `akst gamt`,
		-28800: `akdt pst`,
		-25200: `mst pdt`,
		-21600: `cst galt mdt`,
		-18000: `act cdt cot est pet`,
		-14400: `amt ast bot edt`,
		-12600: `nft nst`,
		-10800: `adt bra brt clst gft pmst pyst uyt wgt`,
		-9000:  `ndt`,
		-7200:  `brst fnt pmdt uyst wgst`,
		-3600:  `azot egt fnst`,
		0:      `azost egst gmt uct ut utc wet z zulu`,
		3600:   `bst cet met mez wat wetdst`,
		7200:   `bdst cest cetdst eet ist mest mesz metdst sast`,
		10800:  `eat eest eetdst fet idt`,
		12600:  `irt`,
		14400:  `msd mut ret sct`,
		16200:  `aft`,
		18000:  `must mvt pkt tft tjt uzt`,
		20700:  `npt`,
		21600:  `almt bdt btt kgst pkst uzst xjt yekst`,
		23400:  `mmt`,
		25200:  `almst cxt ict wast`,
		28800:  `awst bnt bort cct hkt myt pht wadt`,
		31500:  `acwst`,
		32400:  `awsst jayt jst kst pwt ulast wdt`,
		34200:  `acst cast`,
		36000:  `aest chut ddut kdt ligt mpt pgt trut yapt`,
		37800:  `acdt acsst cadt lhst sadt`,
		39600:  `aedt aesst pont vut`,
		43200:  `fjt gilt mht nzst nzt tvt wakt wft`,
		45900:  `chast`,
		46800:  `fjst nzdt tot`,
		49500:  `chadt`,
	}
	placeAbbrevs = map[string]string{
		"America/Argentina/Buenos_Aires": "arst art",
		"America/Asuncion":               "pyt",
		"America/Caracas":                "vet",
		"America/Guyana":                 "gyt",
		"America/Santiago":               "clt",
		"Antarctica/Davis":               "davt",
		"Antarctica/Mawson":              "mawt",
		"Asia/Anadyr":                    "anast anat",
		"Asia/Ashgabat":                  "tmt",
		"Asia/Baku":                      "azst azt",
		"Asia/Bishkek":                   "kgt",
		"Asia/Colombo":                   "lkt",
		"Asia/Irkutsk":                   "irkst irkt",
		"Asia/Kamchatka":                 "petst pett",
		"Asia/Krasnoyarsk":               "krast krat",
		"Asia/Magadan":                   "magst magt",
		"Asia/Novosibirsk":               "novst novt",
		"Asia/Omsk":                      "omsst omst",
		"Asia/Singapore":                 "sgt",
		"Asia/Tbilisi":                   "gest get",
		"Asia/Ulaanbaatar":               "ulat",
		"Asia/Vladivostok":               "vlast vlat",
		"Asia/Yakutsk":                   "yakst yakt",
		"Asia/Yekaterinburg":             "yekt",
		"Asia/Yerevan":                   "amst",
		"Atlantic/Stanley":               "fkst fkt",
		"Australia/Lord_Howe":            "lhdt",
		"Europe/Moscow":                  "msk",
		"Europe/Volgograd":               "volt",
		"Indian/Chagos":                  "iot",
		"Pacific/Easter":                 "easst east",
		"Pacific/Fakaofo":                "tkt",
		"Pacific/Kiritimati":             "lint",
		"Pacific/Kosrae":                 "kost",
		"Pacific/Niue":                   "nut",
		"Pacific/Rarotonga":              "ckt",
	}
)

// abbrevs holds both lists by abbreviation in lower case: an offset or the name of a place.
var abbrevs = map[string]struct {
	offset int
	place  string
}{}

func init() {
	for offset, names := range offsetAbbrevs {
		for _, name := range strings.Fields(names) {
			abbrevs[name] = struct {
				offset int
				place  string
			}{offset: offset}
		}
	}
	for place, names := range placeAbbrevs {
		for _, name := range strings.Fields(names) {
			abbrevs[name] = struct {
				offset int
				place  string
			}{place: place}
		}
	}
}

// findAbbrev finds a zone by its abbreviation in lower case.
func findAbbrev(name string) (Zone, bool) {
	a, ok := abbrevs[name]
	if !ok {
		return Zone{}, false
	}
	if a.place == "" {
		return Zone{offset: a.offset}, true
	}
	place, err := time.LoadLocation(a.place)
	return Zone{place: place, abbrev: strings.ToUpper(name)}, err == nil
}

// daylight are the abbreviations of offsets in summer (those marked D in timezonesets/Default).
var daylight = strings.Fields(`acdt acsst adt aedt aesst akdt almst awsst azost bdst brst bst cadt cdt cest cetdst chadt
	clst clt easst east edt eest eetdst egst fjst fnst idt kdt kgst lhdt mdt mest mesz metdst
	msd must ndt nzdt pdt pkst pmdt pyst sadt ulast uyst uzst wadt wdt wetdst wgst yekst`)

// Abbreviation is an abbreviation of a time zone, in upper case, as of a moment.
type Abbreviation struct {
	Name     string
	Offset   int // seconds east of UTC
	Daylight bool
}

// Abbreviations returns all abbreviations in their order. The offset of one that belongs to a place is that of a
// moment.
func Abbreviations(at time.Time) []Abbreviation {
	out := make([]Abbreviation, 0, len(abbrevs))
	for name := range abbrevs {
		z, ok := findAbbrev(name)
		if !ok {
			continue // this machine has no time zone database
		}
		out = append(out, Abbreviation{strings.ToUpper(name), z.Offset(Moment(at)), slices.Contains(daylight, name)})
	}
	slices.SortFunc(out, func(a, b Abbreviation) int { return strings.Compare(a.Name, b.Name) })
	return out
}
