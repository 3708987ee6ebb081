/*
 * many_parts.c: requests for very many ranges or keys, in a library that takes no memory from malloc for them.
 *
 *     many_parts LOCK-FILE
 *
 * They are granted, or refused by an error; the program goes on, and nothing is held then.
 */
#include "attack.h"

#define MOST 600000

static turnlock_range ranges[MOST];
static turnlock_key keys[MOST];
static uint32_t numbers[MOST];

/* As one gets it who wants more than there is. */
static void refused(turnlock_hold *hold, const turnlock_request *request)
{
    const int32_t status = turnlock_hold_acquire(hold, request, NULL);
    if (status != TURNLOCK_ERROR_PARTICIPANTS_FULL && status != TURNLOCK_ERROR_NO_MEMORY)
        FAIL("%d, %s", status, turnlock_last_error_message());
    EXPECT(TURNLOCK_ERROR_NOT_OWNER, turnlock_hold_release(hold));
}

int main(int count, char **arguments)
{
    if (count != 2)
        return 2;
    turnlock_file *file;
    turnlock_hold *hold;
    turnlock_rangelock *in_ranges;
    turnlock_keyedlock *by_key;
    EXPECT(TURNLOCK_OK, turnlock_file_open(arguments[1], NULL, &file));
    EXPECT(TURNLOCK_OK, turnlock_hold_open(file, NULL, &hold));
    EXPECT(TURNLOCK_OK, turnlock_rangelock_open(file, "ranges", NULL, &in_ranges));
    EXPECT(TURNLOCK_OK, turnlock_keyedlock_open(file, "keys", NULL, &by_key));
    turnlock_request of_ranges = {
        .size = sizeof of_ranges, .lock = (turnlock_lock *)in_ranges, .ranges = ranges};
    turnlock_request of_keys = {.size = sizeof of_keys, .lock = (turnlock_lock *)by_key, .keys = keys};
    for (uint32_t at = 0; at < MOST; at++) {
        numbers[at] = at;
        keys[at] = (turnlock_key){&numbers[at], sizeof numbers[at]};
    }
    static const size_t counts[] = {200, 1500, 5000, 262144, 300000, MOST};
    for (size_t nth = 0; nth < sizeof counts / sizeof *counts; nth++) {
        of_ranges.range_count = of_keys.key_count = counts[nth];
        at("overlapping ranges");
        for (uint64_t at = 0; at < counts[nth]; at++)
            ranges[at] = (turnlock_range){at, at + 2};
        const int32_t status = turnlock_hold_acquire(hold, &of_ranges, NULL);
        if (status == TURNLOCK_OK)
            EXPECT(TURNLOCK_OK, turnlock_hold_release(hold));
        else if (status != TURNLOCK_ERROR_NO_MEMORY || counts[nth] <= 5000)
            FAIL("%zu overlapping ranges: %d, %s", counts[nth], status, turnlock_last_error_message());
        at("separate ranges");
        for (uint64_t at = 0; at < counts[nth]; at++)
            ranges[at] = (turnlock_range){2 * at, 2 * at + 1};
        refused(hold, &of_ranges);
        at("keys");
        refused(hold, &of_keys);
    }
    of_keys.key_count = 2;
    EXPECT(TURNLOCK_OK, turnlock_hold_acquire(hold, &of_keys, NULL));
    EXPECT(TURNLOCK_OK, turnlock_hold_release(hold));
    EXPECT(TURNLOCK_OK, turnlock_hold_close(hold));
    PASS("up to %d parts", MOST);
    return 0;
}
