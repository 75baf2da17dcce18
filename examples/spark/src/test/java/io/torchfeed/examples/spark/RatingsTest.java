// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class RatingsTest {
  @Test
  void wrongOptionsAreRefused() {
    StringWriter text = new StringWriter();

    int status =
        Ratings.line()
            .setErr(new PrintWriter(text, true))
            .execute("--master", "local[2]", "--epochs", "0");

    assertThat(status).isEqualTo(2);
    assertThat(text.toString()).contains("must be above 0");
  }
}
