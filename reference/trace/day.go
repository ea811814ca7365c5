package trace

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
