// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import io.torchfeed.data.token.PackedTokens;
import io.torchfeed.data.token.TokenFile;
import io.torchfeed.memory.DType;
import io.torchfeed.table.FittedColumns;
import io.torchfeed.table.NumberColumn;
import io.torchfeed.table.SavedColumns;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableRows;
import io.torchfeed.table.TableTensor;
import io.torchfeed.table.TensorEncoder;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Makers of tables and tokens for {@link SampleArguments}. */
final class SampleColumns {
  private SampleColumns() {}

  static void addTo(SampleArguments all) {
    all.put(
        TableColumns.class,
        () -> TableColumns.of(TableTensor.features("x", NumberColumn.of("size"))));
    all.put(
        TableRows.class,
        () -> TableRows.of(all.get(TableColumns.class), List.of(Map.of("size", 1))));
    all.put(
        TableRows.Collector.class,
        () ->
            TableRows.collector(
                all.get(TableColumns.class),
                text -> Double.parseDouble(text.toString()),
                row -> "row"));
    all.put(FittedColumns.class, () -> all.get(TableRows.class).fit());
    all.put(TensorEncoder.class, () -> all.get(FittedColumns.class).encoder("x"));
    all.put(SavedColumns.class, SavedColumns::empty);
    all.put(PackedTokens.class, () -> TokenFile.raw(DType.UINT8, all.get(Path.class)).packed(1));
  }
}
