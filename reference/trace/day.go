package trace

import "time"

// daysIn are the days of each month, of which February may have one more.
var daysIn = [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// unixDay counts the days from 1970-01-01 to a date, as [time.Date] does at several times the cost;
// ok is false where the month has no such day.
func unixDay(year, month, day int) (days int64, ok bool) {
	leap := year%4 == 0 && (year%100 != 0 || year%400 == 0)
	if most := daysIn[month-1]; day < 1 || day > most && !(leap && month == 2 && day == 29) {
		return 0, false
	}
	if month -= 2; month <= 0 { // the year begins in March, so that a leap day is its last
		month, year = month+12, year-1
	}
	year += 400 // so that nothing is negative in January of the year 0
	const before1970 = 719499 + 146097
	return int64(365*year+year/4-year/100+year/400+367*month/12+day) - before1970, true
}

// parseUTC reads a stamp of RFC 3339 in UTC with up to 9 decimals, as most are. It leaves all others,
// and those that are none, to time.Parse.
func parseUTC(s string) (time.Time, bool) {
	const shape = "2006-01-02T15:04:05Z"
	n := len(s) - 1
	if n+1 < len(shape) || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[n] != 'Z' {
		return time.Time{}, false
	}
	century, ok1 := twoDigits(s[0:2], false)
	year, ok2 := twoDigits(s[2:4], false)
	month, ok3 := twoDigits(s[5:7], false)
	day, ok4 := twoDigits(s[8:10], false)
	hour, ok5 := twoDigits(s[11:13], false)
	minute, ok6 := twoDigits(s[14:16], false)
	second, ok7 := twoDigits(s[17:19], false)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || !ok7 || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	nanos, digits := int64(0), s[19:n]
	if digits != "" {
		if digits[0] != '.' || len(digits) < 2 || len(digits) > 10 {
			return time.Time{}, false
		}
		for k := 1; k < 10; k++ {
			nanos *= 10
			if k < len(digits) {
				if digits[k] < '0' || digits[k] > '9' {
					return time.Time{}, false
				}
				nanos += int64(digits[k] - '0')
			}
		}
	}
	at, ok := unixDay(100*century+year, month, day)
	return time.Unix(at*86400+int64(hour*3600+minute*60+second), nanos).UTC(), ok
}
