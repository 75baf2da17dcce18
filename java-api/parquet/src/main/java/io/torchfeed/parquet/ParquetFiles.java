// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static java.util.Objects.requireNonNull;

import dev.hardwood.HardwoodContext;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.parquet.ParquetException.Problem;
import io.torchfeed.storage.ByteSource;
import io.torchfeed.table.FittedColumns;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableLearner;
import io.torchfeed.table.TableRows;
import io.torchfeed.table.TableValueException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Parquet files whose rows follow each other. Their footers are read at once, their rows later, and
 * only the columns that are asked for.
 *
 * <pre>{@code
 * ParquetFiles files = ParquetFiles.inFolder(Path.of("ratings.parquet"));
 * ParquetRows rows =
 *     files.rows(
 *         ParquetColumn.of("user", DType.INT64),
 *         ParquetColumn.of("features", DType.FLOAT32, 13).withMissingValue(0),
 *         ParquetColumn.of("rating", DType.FLOAT32));
 * try (FileDataset data = rows.store(Path.of("ratings.rows")).dataset();
 *     DataLoader loader = DataLoader.over(data).batchSize(1024).build();
 *     Batches batches = loader.epoch(0)) {
 *   for (Batch batch : batches) {
 *     step(batch.tensor("user"), batch.tensor("features"), batch.tensor("rating"));
 *   }
 * }
 * }</pre>
 *
 * <p>The codecs snappy, zstd, lz4 and brotli need a library each, which the exception names: {@code
 * org.xerial.snappy:snappy-java}, {@code com.github.luben:zstd-jni}, {@code at.yawk.lz4:lz4-java},
 * {@code com.aayushatharva.brotli4j:brotli4j}. Encrypted files are refused, and so is a row group
 * with more than 2<sup>31</sup> bytes of one column.
 *
 * <p>Immutable and thread-safe. No file is open between calls.
 */
public final class ParquetFiles {
  private static final int TABLE_BATCH = 1 << 12;

  private final List<FilePlan> files;

  private ParquetFiles(List<FilePlan> files) {
    this.files = files;
  }

  /**
   * Reads the footers of local files.
   *
   * @param path the first file
   * @param others the files after it
   * @return the files
   * @throws ParquetException if one cannot be read, or is no Parquet file
   */
  public static ParquetFiles of(Path path, Path... others) {
    List<Path> paths = new ArrayList<>(List.of(requireNonNull(path, "path")));
    for (Path other : requireNonNull(others, "others")) {
      paths.add(requireNonNull(other, "others"));
    }
    return ofPaths(paths);
  }

  /**
   * Reads the footers of the files in a folder with names that end with {@code .parquet}, in the
   * order of their names; without those whose names begin with {@code _} or a dot.
   *
   * @param folder as Spark and others write it
   * @return the files
   * @throws ParquetException if there is none, or one cannot be read
   */
  public static ParquetFiles inFolder(Path folder) {
    requireNonNull(folder, "folder");
    List<Path> paths;
    try (Stream<Path> all = Files.list(folder)) {
      paths = all.filter(ParquetFiles::isData).sorted().toList();
    } catch (IOException e) {
      throw new ParquetException(
          Problem.FILE, "%s cannot be listed: %s".formatted(folder, ParquetException.reason(e)), e);
    }
    if (paths.isEmpty()) {
      throw new ParquetException(Problem.FILE, folder + " must have a file *.parquet, got none");
    }
    return ofPaths(paths);
  }

  private static boolean isData(Path path) {
    String name = String.valueOf(path.getFileName());
    return name.endsWith(".parquet") && !name.startsWith("_") && !name.startsWith(".");
  }

  private static ParquetFiles ofPaths(List<Path> paths) {
    List<Supplier<SourceInput>> inputs = new ArrayList<>();
    paths.forEach(path -> inputs.add(() -> SourceInput.of(path)));
    return read(inputs);
  }

  /**
   * Reads the footers of sources.
   *
   * @param sources at least one; the caller closes them after the last use of the rows
   * @return the files
   * @throws ParquetException if one cannot be read, or is no Parquet file
   * @throws IllegalArgumentException if there is no source
   */
  public static ParquetFiles of(List<? extends ByteSource> sources) {
    List<Supplier<SourceInput>> inputs = new ArrayList<>();
    for (ByteSource source : requireNonNull(sources, "sources")) {
      requireNonNull(source, "sources");
      inputs.add(() -> SourceInput.of(source));
    }
    if (inputs.isEmpty()) {
      throw new IllegalArgumentException("sources must contain at least one file, got none");
    }
    return read(inputs);
  }

  private static ParquetFiles read(List<Supplier<SourceInput>> inputs) {
    try (HardwoodContext context = HardwoodContext.create(1)) {
      return new ParquetFiles(inputs.stream().map(input -> FilePlan.read(input, context)).toList());
    }
  }

  /**
   * Returns the number of rows in all files.
   *
   * @return at least 0
   */
  public long size() {
    return files.stream().mapToLong(FilePlan::rows).sum();
  }

  /**
   * Returns the columns of the first file.
   *
   * @return the path of each field, lists without their inner groups, as an unmodifiable list
   */
  public List<String> names() {
    return Leaf.names(files.get(0).schema());
  }

  /**
   * Returns rows of some columns.
   *
   * @param columns at least one, with different names
   * @return the rows, not yet read
   * @throws ParquetException if a file lacks a column, or has one that cannot be the tensor's; the
   *     message names the columns that it has
   * @throws IllegalArgumentException if there is no column, or two have the same name
   */
  public ParquetRows rows(ParquetColumn... columns) {
    List<ColumnSource> sources = new ArrayList<>();
    for (ParquetColumn column : requireNonNull(columns, "columns")) {
      sources.add(
          requireNonNull(column, "columns")
              .plan()
              .<ColumnSource>map(plan -> new ImageSource(column, plan))
              .orElse(new NumberSource(column)));
    }
    return ParquetRows.of(files, sources);
  }

  /**
   * Returns rows of the tensors of a table: numbers with missing values, categories and dates.
   *
   * @param columns the learned columns, for example of {@link #fit}
   * @return the rows, not yet read
   * @throws ParquetException if a file lacks a column, or has lists in one
   */
  public ParquetRows rows(FittedColumns columns) {
    List<ColumnSource> sources = new ArrayList<>();
    for (RowSpec row : requireNonNull(columns, "columns").rows()) {
      String json = columns.only(row.name()).toJson();
      sources.add(new TensorSource(columns.encoder(row.name()), json));
    }
    return ParquetRows.of(files, sources);
  }

  /**
   * Learns from all rows, without having them in memory.
   *
   * @param columns the description
   * @return the learned columns
   * @throws ParquetException if a file lacks a column or cannot be read, or a value does not fit
   * @throws IllegalArgumentException as {@link TableLearner#fit}
   */
  public FittedColumns fit(TableColumns columns) {
    TableLearner learner = TableLearner.of(requireNonNull(columns, "columns"));
    forEachRow(columns.names(), learner::add);
    return learner.fit();
  }

  /**
   * Reads the columns of a table into memory.
   *
   * @param columns the description
   * @return the rows, to be split, learned from and made into tensors
   * @throws ParquetException if a file lacks a column or cannot be read, or a value does not fit
   * @throws IllegalArgumentException if there are 2^31 rows or more
   */
  public TableRows read(TableColumns columns) {
    requireNonNull(columns, "columns");
    TableRows.Collector rows =
        TableRows.collector(
            columns,
            text -> {
              throw new NumberFormatException(text.toString());
            },
            this::place);
    forEachRow(columns.names(), rows::add);
    return rows.rows();
  }

  private String place(int row) {
    long left = row;
    for (FilePlan file : files) {
      for (FilePlan.GroupPlace group : file.groups()) {
        if (left < group.rows()) {
          return new BatchPlace(file.name(), group.number(), left).of(0);
        }
        left -= group.rows();
      }
    }
    throw new IndexOutOfBoundsException(row);
  }

  /** Receives the values of a row. */
  private interface RowUse {
    void take(@Nullable Object... cells);
  }

  private void forEachRow(List<String> names, RowUse use) {
    @Nullable Object[] cells = new @Nullable Object[names.size()];
    GroupReader.Batches batches =
        (leaves, count, place) -> {
          for (int record = 0; record < count; record++) {
            TensorSource.readCells(leaves, record, cells, names, place);
            try {
              use.take(cells);
            } catch (TableValueException e) {
              throw new ParquetException(
                  Problem.VALUE, place.of(record) + ", " + e.getMessage(), e);
            }
          }
        };
    try (HardwoodContext context = HardwoodContext.create();
        GroupReader reader = new GroupReader(context, new ReadMemory(), TABLE_BATCH, null)) {
      for (FilePlan file : files) {
        List<Leaf> leaves =
            names.stream().map(name -> Leaf.find(file.name(), file.schema(), name)).toList();
        TensorSource.requireCells(file.name(), names, leaves);
        for (FilePlan.GroupPlace group : file.groups()) {
          reader.read(file, group, leaves, batches);
        }
      }
    } catch (IOException e) {
      throw FilePlan.failed(files.get(0).name(), e);
    }
  }

  /** Returns the number of files and rows. */
  @Override
  public String toString() {
    return "%d rows in %d files, the first is %s"
        .formatted(size(), files.size(), files.get(0).name());
  }
}
