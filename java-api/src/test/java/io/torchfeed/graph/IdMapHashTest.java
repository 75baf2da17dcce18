// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.internal.Hash64;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IdMapHashTest {
  /** Values of GCC 12's std::hash. */
  @ParameterizedTest
  @CsvSource({
    "0, 2297668033614959926",
    "1, 10159970873491820195",
    "abcdefgh, 8664279048047335611",
    "'', 6142509188972423790"
  })
  void libstdcxxHashesMatchTheLibrary(String text, String hash) {
    assertThat(IdMap.Hash.LIBSTDCXX.of(text)).isEqualTo(Long.parseUnsignedLong(hash));
  }

  /** Published values of FNV-1a, and of the finaliser at 1. */
  @Test
  void fnvMixIsFnvFollowedByTheFinaliser() {
    assertThat(Hash64.fnv1a("")).isEqualTo(0xcbf29ce484222325L);
    assertThat(Hash64.fnv1a("a")).isEqualTo(0xaf63dc4c8601ec8cL);
    assertThat(Hash64.fnv1a("foobar")).isEqualTo(0x85944171f73967e8L);
    assertThat(Hash64.mix(1)).isEqualTo(0x5692161D100B05E5L);
    assertThat(IdMap.Hash.FNV_MIX.of("foobar")).isEqualTo(Hash64.mix(0x85944171f73967e8L));
  }
}
