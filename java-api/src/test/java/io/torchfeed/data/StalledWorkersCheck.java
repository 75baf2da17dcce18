// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.bindings.torchfeed;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * The check that a test leaks no native objects, once the workers that it stalled have returned.
 */
abstract class StalledWorkersCheck {
  private long objects;

  @BeforeEach
  void count() {
    objects = torchfeed.live_objects();
  }

  @AfterEach
  void leaksNoNativeObjects() throws InterruptedException {
    for (int i = 0; i < 200 && torchfeed.live_objects() > objects; i++) {
      Thread.sleep(10); // stalled workers are returning
    }
    assertThat(torchfeed.live_objects()).isEqualTo(objects);
  }
}
