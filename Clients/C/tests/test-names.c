/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "../src/names.h"
#include "harness.h"

static void test_names_and_patterns(void)
{
  static const struct {
    const char *text;
    bool is_name;
    bool is_pattern;
  } table[] = {
      {"a", true, true},      {"a.b-c_D.9", true, true}, {"", false, false},
      {".", false, false},    {"a.", false, false},      {".a", false, false},
      {"a..b", false, false}, {"a b", false, false},     {"a.\xC3\xA4", false, false},
      {"*", false, true},     {"**", false, true},       {"a.*.b", false, true},
      {"a.**", false, true},  {"**.a", false, false},    {"a.b*", false, false},
      {"***", false, false},  {"a.*b", false, false},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (name_is_valid(table[i].text) != table[i].is_name || pattern_is_valid(table[i].text) != table[i].is_pattern) {
      fail(__FILE__, __LINE__, "\"%s\"", table[i].text);
    }
  }
  char longest[257];
  memset(longest, 'x', 256);
  longest[256] = '\0';
  CHECK(!name_is_valid(longest) && !object_is_valid(longest));
  longest[255] = '\0';
  CHECK(name_is_valid(longest) && object_is_valid(longest));
}

static void test_objects(void)
{
  static const struct {
    const char *text;
    bool is_object;
  } table[] = {
      {NULL, true},
      {"", true},
      {"window/1", true},
      {"\xE2\x82\xAC \xF0\x9F\x98\x80", true},
      {"a\tb", false},
      {"\x7F", false},
      {"\xC2\x9B", false},
      {"\xC2\xA0", true},
      {"\xFF", false},
      {"\xC0\x80", false},
      {"\xE0\x80\x80", false},
      {"\xED\xA0\x80", false},
      {"\xF4\x90\x80\x80", false},
      {"\xE2\x82", false},
      {"\x80", false},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (object_is_valid(table[i].text) != table[i].is_object) {
      fail(__FILE__, __LINE__, "object %zu", i);
    }
  }
}

static void test_which_names_match(void)
{
  static const struct {
    const char *pattern;
    const char *name;
    bool matches;
  } table[] = {
      {"", "a.b", true},
      {"a.b", "a.b", true},
      {"a.b", "a.bc", false},
      {"a.b", "a", false},
      {"a", "a.b", false},
      {"*", "a", true},
      {"*", "a.b", false},
      {"a.*", "a.b", true},
      {"a.*", "a", false},
      {"a.*", "a.b.c", false},
      {"*.b", "a.b", true},
      {"a.*.c", "a.b.c", true},
      {"a.*.c", "a.b.d", false},
      {"**", "a", true},
      {"**", "a.b.c", true},
      {"a.**", "a", false},
      {"a.**", "a.b.c", true},
      {"ab.**", "a.b", false},
      {"", "tribune.a", false},
      {"**", "tribune.a", false},
      {"*.a", "tribune.a", false},
      {"tribune.*", "tribune.a", true},
      {"tribune.**", "tribune.a.b", true},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (pattern_matches(table[i].pattern, table[i].name) != table[i].matches) {
      fail(__FILE__, __LINE__, "\"%s\" and \"%s\"", table[i].pattern, table[i].name);
    }
  }
}

static void test_what_is_will_or_did(void)
{
  static const struct {
    const char *text;
    bool is_name;
    bool is_pattern;
  } table[] = {
      {"a.willClose", true, true}, {"a.didClose", true, true},  {"didClose", true, true},
      {"a.will_1", true, true},    {"a.willing", false, false}, {"a.will", false, false},
      {"a.didn", false, false},    {"will.a", false, false},    {"tribune.bus.willStop", false, true},
      {"a.*", false, true},        {"**", false, true},         {"a.shouldClose", false, false},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (name_is_will_or_did(table[i].text) != table[i].is_name
        || pattern_can_match_will_or_did(table[i].text) != table[i].is_pattern) {
      fail(__FILE__, __LINE__, "\"%s\"", table[i].text);
    }
  }
}

static const struct test tests[] = {
    {"names and patterns", test_names_and_patterns},
    {"objects", test_objects},
    {"which names match", test_which_names_match},
    {"what is will or did", test_what_is_will_or_did},
};

int main(int argc, char **argv)
{
  return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
