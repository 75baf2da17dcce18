// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IdHashTest {
  /** Values of GCC 12's std::hash. */
  @ParameterizedTest
  @CsvSource({
    "0, 2297668033614959926",
    "1, 10159970873491820195",
    "abcdefgh, 8664279048047335611",
    "'', 6142509188972423790"
  })
  void libstdcxxHasTheValuesOfItsLibrary(String text, String hash) {
    assertThat(IdHash.LIBSTDCXX.of(text)).isEqualTo(Long.parseUnsignedLong(hash));
  }

  /** Published values of FNV-1a, and of the finaliser at 1. */
  @Test
  void fnvMixIsFnvThenTheFinaliser() {
    assertThat(Mixing.fnv1a("")).isEqualTo(0xcbf29ce484222325L);
    assertThat(Mixing.fnv1a("a")).isEqualTo(0xaf63dc4c8601ec8cL);
    assertThat(Mixing.fnv1a("foobar")).isEqualTo(0x85944171f73967e8L);
    assertThat(Mixing.mix64(1)).isEqualTo(0x5692161D100B05E5L);
    assertThat(IdHash.FNV_MIX.of("foobar")).isEqualTo(Mixing.mix64(0x85944171f73967e8L));
  }
}
