package funcs

import (
	"math"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// angles adds the trigonometric functions, those in degrees, and the hyperbolic ones.
func angles() {
	one := func(name string, ok func(x float64) bool, f func(x float64) float64) {
		mathFamily.Function(name, types.Float8, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			x := a[0].Float()
			if !ok(x) {
				return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "input is out of range")
			}
			if math.IsNaN(x) {
				return a[0], nil
			}
			return types.NewFloat(f(x)), nil
		}, types.Float8)
	}
	all := func(float64) bool { return true }
	finite := func(x float64) bool { return !math.IsInf(x, 0) }
	unit := func(x float64) bool { return !(x < -1 || x > 1) }
	one("sin", finite, math.Sin)
	one("cos", finite, math.Cos)
	one("tan", finite, math.Tan)
	one("cot", finite, func(x float64) float64 { return 1 / math.Tan(x) })
	one("sinh", all, math.Sinh)
	one("cosh", all, math.Cosh)
	one("tanh", all, math.Tanh)
	one("asinh", all, math.Asinh)
	one("acosh", func(x float64) bool { return !(x < 1) }, math.Acosh)
	one("atanh", unit, math.Atanh)
	one("sind", finite, sind)
	one("cosd", finite, cosd)
	one("tand", finite, tand)
	one("cotd", finite, cotd)
	one("asind", unit, func(x float64) float64 { return math.Copysign(asindUnit(math.Abs(x)), x) })
	one("acosd", unit, func(x float64) float64 {
		if x < 0 {
			return 90 + asindUnit(-x)
		}
		return acosdUnit(x)
	})
	one("atand", all, func(x float64) float64 { return math.Atan(x) / math.Atan(1) * 45 })
	mathFamily.Function("atan2d", types.Float8, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewFloat(math.Atan2(a[0].Float(), a[1].Float()) / math.Atan(1) * 45), nil
	}, types.Float8, types.Float8)
}

// The functions in degrees are computed as PostgreSQL does (float.c): scaled so that they are exact where the result
// is, at multiples of 30 and 45 degrees.

// radians rounds its argument's product, where a constant expression would not.
func radians(x float64) float64 { return x * radiansPerDegree }

// sind30 is the sine of 0 to 30 degrees, cosd60 the cosine of 0 to 60.
func sind30(x float64) float64 {
	half := math.Sin(radians(30))
	return math.Sin(radians(x)) / half / 2
}

func cosd60(x float64) float64 {
	half := 1 - math.Cos(radians(60))
	return 1 - (1-math.Cos(radians(x)))/half/2
}

// sind90 and cosd90 are sine and cosine of 0 to 90 degrees.
func sind90(x float64) float64 {
	if x <= 30 {
		return sind30(x)
	}
	return cosd60(90 - x)
}

func cosd90(x float64) float64 {
	if x <= 60 {
		return cosd60(x)
	}
	return sind30(90 - x)
}

// quadrant returns the angle between 0 and 90 degrees with the same sine and cosine as x but for their signs.
func quadrant(x float64) (angle, sine, cosine float64) {
	x, sine, cosine = math.Mod(x, 360), 1, 1
	if x < 0 {
		x, sine = -x, -sine
	}
	if x > 180 {
		x, sine = 360-x, -sine
	}
	if x > 90 {
		x, cosine = 180-x, -cosine
	}
	return x, sine, cosine
}

func sind(x float64) float64 {
	x, sign, _ := quadrant(x)
	return sign * sind90(x)
}

func cosd(x float64) float64 {
	x, _, sign := quadrant(x)
	return sign * cosd90(x)
}

func tand(x float64) float64 {
	x, sine, cosine := quadrant(x)
	return sine*cosine*(sind90(x)/cosd90(x)/(sind90(45)/cosd90(45))) + 0 // not -0
}

func cotd(x float64) float64 {
	x, sine, cosine := quadrant(x)
	return sine*cosine*(cosd90(x)/sind90(x)/(cosd90(45)/sind90(45))) + 0
}

// asindUnit and acosdUnit are the inverse functions of 0 to 1.
func asindUnit(x float64) float64 {
	if x <= 0.5 {
		return math.Asin(x) / math.Asin(0.5) * 30
	}
	return 90 - math.Acos(x)/math.Acos(0.5)*60
}

func acosdUnit(x float64) float64 {
	if x <= 0.5 {
		return 90 - math.Asin(x)/math.Asin(0.5)*30
	}
	return math.Acos(x) / math.Acos(0.5) * 60
}
