// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/** The names of a schema. */
final class SchemaNames {
  private SchemaNames() {}

  /**
   * Returns the place of a column.
   *
   * @throws SparkRanksException if there is none or more than one of this name
   */
  static int ordinal(StructType schema, String name) {
    List<String> names = Arrays.asList(schema.fieldNames());
    int ordinal = names.indexOf(name);
    if (ordinal != names.lastIndexOf(name)) {
      throw new SparkRanksException(
          Problem.SCHEMA, "the DataFrame must have one column %s, got %s".formatted(name, names));
    }
    if (ordinal < 0) {
      throw new SparkRanksException(
          Problem.SCHEMA, "the DataFrame must have a column %s, got %s".formatted(name, names));
    }
    return ordinal;
  }
}
