// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import static java.util.Objects.requireNonNull;

import io.torchfeed.spark.InvalidRows;
import io.torchfeed.spark.job.SparkRanks;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import org.apache.spark.ml.Model;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.ml.util.MLReader;
import org.apache.spark.ml.util.MLWritable;
import org.apache.spark.ml.util.MLWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructType;

/**
 * A network that a {@link TorchfeedEstimator} has trained: a stage of a pipeline that adds its
 * output as a column.
 *
 * <p>Saved by {@code write().save(path)}, also within a {@code PipelineModel}: {@code
 * model.safetensors}, which Python reads, and the serialized {@link TorchfeedNet}. Load only models
 * of people whom you trust, since loading deserializes.
 */
public final class TorchfeedModel extends Model<TorchfeedModel> implements MLWritable {
  private static final long serialVersionUID = 1L;

  private static final String SAFETENSORS = "model.safetensors";

  /** The name of the stage. */
  private final String uid;

  /** The network. */
  private final NetColumns columns;

  /** Its parameters. */
  private final byte[] trained;

  /** The way of rows that do not fit. */
  private final Param<String> handleInvalid;

  TorchfeedModel(String uid, NetColumns columns, byte[] trained) {
    this.uid = uid;
    this.columns = columns;
    this.trained = trained;
    handleInvalid = InvalidParam.of(this);
    setDefault(handleInvalid, InvalidParam.DEFAULT);
  }

  /**
   * Returns the parameter of the rows that do not fit.
   *
   * @return the parameter
   */
  public Param<String> handleInvalid() {
    return handleInvalid;
  }

  /**
   * Sets the way of rows that do not fit, as {@link InvalidRows} describes it.
   *
   * @param value {@code error}, {@code skip} or {@code keep}
   * @return this model
   */
  public TorchfeedModel setHandleInvalid(String value) {
    set(handleInvalid, requireNonNull(value, "value"));
    return this;
  }

  private InvalidRows invalid() {
    return InvalidParam.rows(getOrDefault(handleInvalid));
  }

  /**
   * Returns the parameters and buffers.
   *
   * @return the bytes of a safetensors file, for {@link io.torchfeed.spark.ModelBytes#load}
   */
  public byte[] modelBytes() {
    return trained.clone();
  }

  @Override
  public Dataset<Row> transform(Dataset<?> dataset) {
    return SparkRanks.transform(
        requireNonNull(dataset, "dataset").toDF(), columns.model(trained, invalid()));
  }

  @Override
  public StructType transformSchema(StructType schema) {
    return columns.extended(requireNonNull(schema, "schema"), invalid());
  }

  @Override
  public TorchfeedModel copy(ParamMap extra) {
    requireNonNull(extra, "extra");
    return copyValues(new TorchfeedModel(uid, columns, trained), extra).setParent(parent());
  }

  @Override
  public String uid() {
    return uid;
  }

  @Override
  public MLWriter write() {
    return new MLWriter() {
      @Override
      public void saveImpl(String path) {
        StageFiles files = new StageFiles(sparkSession(), path);
        try {
          files.write(
              TorchfeedModel.class,
              uid,
              new Saved(uid, columns, trained, getOrDefault(handleInvalid)));
          files.write(SAFETENSORS, trained);
        } catch (IOException e) {
          throw new UncheckedIOException("the model cannot be saved in " + path, e);
        }
      }
    };
  }

  /**
   * Returns the reader of saved models, which {@code PipelineModel.load} calls.
   *
   * @return the reader
   */
  public static MLReader<TorchfeedModel> read() {
    return new MLReader<>() {
      @Override
      public TorchfeedModel load(String path) {
        Saved saved = new StageFiles(sparkSession(), path).read(Saved.class);
        return new TorchfeedModel(saved.uid, saved.columns, saved.trained)
            .setHandleInvalid(saved.invalid);
      }
    };
  }

  /**
   * Loads a saved model.
   *
   * @param path the folder
   * @return the model
   * @throws java.io.UncheckedIOException if it cannot be read, or its classes are missing
   */
  public static TorchfeedModel load(String path) {
    return read().load(requireNonNull(path, "path"));
  }

  /** A saved model. */
  private static final class Saved implements Serializable {
    private static final long serialVersionUID = 1L;

    private final String uid;
    private final NetColumns columns;
    private final byte[] trained;
    private final String invalid;

    Saved(String uid, NetColumns columns, byte[] trained, String invalid) {
      this.uid = uid;
      this.columns = columns;
      this.trained = trained;
      this.invalid = invalid;
    }
  }
}
