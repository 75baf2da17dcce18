// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import io.torchfeed.spark.InvalidRows;
import java.util.Arrays;
import java.util.Locale;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.ParamValidators;
import org.apache.spark.ml.param.Params;

/** The parameter {@code handleInvalid} of Spark ML. */
final class InvalidParam {
  static final String DEFAULT = "error";

  private InvalidParam() {}

  static Param<String> of(Params stage) {
    Object[] allowed =
        Arrays.stream(InvalidRows.values())
            .map(each -> each.name().toLowerCase(Locale.ROOT))
            .toArray();
    return new Param<>(
        stage,
        "handleInvalid",
        "rows that do not fit: error, skip (leave out) or keep (output null)",
        ParamValidators.inArray(allowed));
  }

  static InvalidRows rows(String value) {
    return InvalidRows.valueOf(value.toUpperCase(Locale.ROOT));
  }
}
