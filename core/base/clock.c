#include "core/base/clock.h"

#include <string.h>
#include <time.h>

enum { MS = 1000 };

static int64_t read_clock(clockid_t id)
{
	struct timespec t = {0};

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * MS + t.tv_nsec / 1000000;
}

static int64_t system_wall(struct clock *c)
{
	(void)c;
	return read_clock(CLOCK_REALTIME);
}

static int64_t system_mono(struct clock *c)
{
	(void)c;
	return read_clock(CLOCK_MONOTONIC);
}

struct clock *clock_system(void)
{
	/* Stateless: nothing in it is ever written. */
	static struct clock system = {system_wall, system_mono};

	return &system;
}

static int64_t manual_wall(struct clock *c)
{
	return ((struct clock_manual *)c)->wall;
}

static int64_t manual_mono(struct clock *c)
{
	return ((struct clock_manual *)c)->mono;
}

void clock_manual_init(struct clock_manual *c, int64_t wall_ms)
{
	*c = (struct clock_manual){.clock = {manual_wall, manual_mono}, .wall = wall_ms};
}

void clock_manual_advance(struct clock_manual *c, int64_t ms)
{
	c->wall += ms;
	c->mono += ms;
}

/* Seconds and milliseconds of a time, also before 1970. */
static struct tm split(int64_t wall_ms, int *ret_ms)
{
	int64_t rest = wall_ms % MS;
	struct tm tm = {0};
	time_t seconds;

	if (rest < 0)
		rest += MS;
	seconds = (wall_ms - rest) / MS;
	gmtime_r(&seconds, &tm);
	*ret_ms = (int)rest;
	return tm;
}

/* That many digits and what stands behind them. Higher ones are cut: four-digit
 * years are all we write. By hand, since each request writes a time. */
static char *put_number(char *at, int value, int digits, char behind)
{
	unsigned rest = (unsigned)value;

	for (int i = digits; i-- > 0; rest /= 10)
		at[i] = (char)('0' + rest % 10);
	at[digits] = behind;
	return at + digits + 1;
}

const char *time_rfc3339(int64_t wall_ms, char buf[static TIME_TEXT])
{
	int ms;
	const struct tm tm = split(wall_ms, &ms);
	char *at = buf;

	at = put_number(at, tm.tm_year + 1900, 4, '-');
	at = put_number(at, tm.tm_mon + 1, 2, '-');
	at = put_number(at, tm.tm_mday, 2, 'T');
	at = put_number(at, tm.tm_hour, 2, ':');
	at = put_number(at, tm.tm_min, 2, ':');
	at = put_number(at, tm.tm_sec, 2, '.');
	at = put_number(at, ms, 3, 'Z');
	*at = '\0';
	return buf;
}

const char *time_compact(int64_t wall_ms, char buf[static TIME_TEXT])
{
	int ms;
	const struct tm tm = split(wall_ms, &ms);
	char *at = buf;

	/* What stands behind a number is overwritten by the next one. */
	at = put_number(at, tm.tm_year + 1900, 4, '0') - 1;
	at = put_number(at, tm.tm_mon + 1, 2, '0') - 1;
	at = put_number(at, tm.tm_mday, 2, 'T');
	at = put_number(at, tm.tm_hour, 2, '0') - 1;
	at = put_number(at, tm.tm_min, 2, '0') - 1;
	at = put_number(at, tm.tm_sec, 2, 'Z');
	*at = '\0';
	return buf;
}

/* Exactly `digits` digits at *at; moves on behind them. -1: not so. */
static int take_number(const char **at, int digits)
{
	int value = 0;

	for (int i = 0; i < digits; i++) {
		const char c = (*at)[i];

		if (c < '0' || c > '9')
			return -1;
		value = value * 10 + (c - '0');
	}
	*at += digits;
	return value;
}

static bool take_char(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

static bool leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Refuses 30 February and the like, which timegm would move to March. */
static bool to_ms(int year, int month, int day, int hour, int minute, int second,
		  int64_t *ret_wall_ms)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	struct tm tm = {.tm_year = year - 1900,
			.tm_mon = month - 1,
			.tm_mday = day,
			.tm_hour = hour,
			.tm_min = minute,
			.tm_sec = second};

	if (year < 0 || month < 1 || month > 12 || day < 1 || hour < 0 || hour > 23 ||
	    minute < 0 || minute > 59 || second < 0 || second > 60)
		return false;
	if (day > days[month - 1] + (month == 2 && leap(year)))
		return false;
	*ret_wall_ms = (int64_t)timegm(&tm) * MS;
	return true;
}

/* ".5", ".123456789": kept to the millisecond, the rest dropped. */
static bool take_fraction(const char **at, int *ret_ms)
{
	int scale = 100;

	*ret_ms = 0;
	if (!take_char(at, '.'))
		return true;
	if (**at < '0' || **at > '9')
		return false;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		*ret_ms += (**at - '0') * scale;
		scale /= 10;
	}
	return true;
}

/* "Z", "+02:00", "-0530" is not RFC 3339 and refused. */
static bool take_offset(const char **at, int64_t *ret_ms)
{
	int sign, hours, minutes;

	*ret_ms = 0;
	if (take_char(at, 'Z') || take_char(at, 'z'))
		return true;
	if (**at != '+' && **at != '-')
		return false;
	sign = *(*at)++ == '+' ? 1 : -1;
	hours = take_number(at, 2);
	if (hours < 0 || hours > 23 || !take_char(at, ':'))
		return false;
	minutes = take_number(at, 2);
	if (minutes < 0 || minutes > 59)
		return false;
	*ret_ms = (int64_t)sign * (hours * 60 + minutes) * 60 * MS;
	return true;
}

/* "hh:mm:ss" */
static bool take_clock(const char **at, int *ret_hour, int *ret_minute, int *ret_second)
{
	*ret_hour = take_number(at, 2);
	if (*ret_hour < 0 || !take_char(at, ':'))
		return false;
	*ret_minute = take_number(at, 2);
	if (*ret_minute < 0 || !take_char(at, ':'))
		return false;
	*ret_second = take_number(at, 2);
	return *ret_second >= 0;
}

bool time_parse_rfc3339(const char *text, int64_t *ret_wall_ms)
{
	const char *at = text;
	int year, month, day, hour, minute, second, ms;
	int64_t wall_ms, offset_ms;

	if (!text)
		return false;
	year = take_number(&at, 4);
	if (year < 0 || !take_char(&at, '-'))
		return false;
	month = take_number(&at, 2);
	if (month < 0 || !take_char(&at, '-'))
		return false;
	day = take_number(&at, 2);
	if (day < 0 || (*at != 'T' && *at != 't' && *at != ' '))
		return false;
	at++;
	if (!take_clock(&at, &hour, &minute, &second) || !take_fraction(&at, &ms) ||
	    !take_offset(&at, &offset_ms) || *at != '\0' ||
	    !to_ms(year, month, day, hour, minute, second, &wall_ms))
		return false;
	*ret_wall_ms = wall_ms + ms - offset_ms;
	return true;
}

/* Position of a three-letter name in a list of them, or -1. */
static int take_name(const char **at, const char *names)
{
	for (int i = 0; names[i * 3]; i++) {
		if (strncmp(*at, names + (size_t)i * 3, 3) == 0) {
			*at += 3;
			return i;
		}
	}
	return -1;
}

static bool take_text(const char **at, const char *text)
{
	const size_t n = strlen(text);

	if (strncmp(*at, text, n) != 0)
		return false;
	*at += n;
	return true;
}

/* RFC 9110 section 5.6.7; the two obsolete forms are not sent any more. */
bool time_parse_http(const char *text, int64_t *ret_wall_ms)
{
	const char *at = text;
	int day, month, year, hour, minute, second;

	if (!text || take_name(&at, "MonTueWedThuFriSatSun") < 0 || !take_text(&at, ", "))
		return false;
	day = take_number(&at, 2);
	if (day < 0 || !take_char(&at, ' '))
		return false;
	month = take_name(&at, "JanFebMarAprMayJunJulAugSepOctNovDec");
	if (month < 0 || !take_char(&at, ' '))
		return false;
	year = take_number(&at, 4);
	if (year < 0 || !take_char(&at, ' ') ||
	    !take_clock(&at, &hour, &minute, &second) || !take_text(&at, " GMT") ||
	    *at != '\0')
		return false;
	return to_ms(year, month + 1, day, hour, minute, second, ret_wall_ms);
}
