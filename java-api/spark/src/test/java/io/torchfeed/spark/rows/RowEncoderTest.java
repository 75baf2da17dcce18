// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.RowOrder;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import javax.imageio.ImageIO;
import org.apache.spark.ml.linalg.SQLDataTypes;
import org.apache.spark.ml.linalg.Vectors;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.assertj.core.api.AbstractThrowableAssert;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RowEncoderTest {
  private static ByteBuffer encode(DataType type, @Nullable Object value, RowColumn column) {
    StructType schema = new StructType().add("v", type);
    InternalRow row =
        (InternalRow)
            CatalystTypeConverters.createToCatalystConverter(schema)
                .apply(RowFactory.create(value));
    try (RowEncoder.Buffer buffer = RowEncoder.of(schema, List.of(column)).new Buffer()) {
      buffer.encode(row, 7);
      assertThat(buffer.bytes()).hasSize((int) column.row().bytes());
      return ByteBuffer.wrap(buffer.bytes()).order(ByteOrder.nativeOrder());
    }
  }

  private static AbstractThrowableAssert<?, ? extends Throwable> refusal(
      Problem problem, DataType type, @Nullable Object value, RowColumn column) {
    return assertThatThrownBy(() -> encode(type, value, column))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(problem));
  }

  @Test
  void numbersBecomeElements() {
    assertThat(encode(DataTypes.LongType, -5L, RowColumn.of("v", DType.INT64)).getLong())
        .isEqualTo(-5);
    assertThat(encode(DataTypes.IntegerType, 7, RowColumn.of("v", DType.INT64)).getLong())
        .isEqualTo(7);
    assertThat(encode(DataTypes.LongType, 200L, RowColumn.of("v", DType.UINT8)).get())
        .isEqualTo((byte) 200);
    assertThat(encode(DataTypes.ShortType, (short) 3, RowColumn.of("v", DType.FLOAT32)).getFloat())
        .isEqualTo(3f);
    assertThat(encode(DataTypes.ByteType, (byte) -3, RowColumn.of("v", DType.INT16)).getShort())
        .isEqualTo((short) -3);
    assertThat(encode(DataTypes.DoubleType, 0.1, RowColumn.of("v", DType.FLOAT32)).getFloat())
        .isEqualTo(0.1f);
    assertThat(encode(DataTypes.FloatType, 0.1f, RowColumn.of("v", DType.FLOAT64)).getDouble())
        .isEqualTo(0.1f);
    assertThat(encode(DataTypes.BooleanType, true, RowColumn.of("v", DType.BOOL)).get())
        .isEqualTo((byte) 1);
  }

  @Test
  void arraysAndVectorsBecomeRows() {
    RowColumn four = RowColumn.of("v", DType.FLOAT32, 2, 2);
    float[] expected = {0, 1.5f, 0, -2};

    assertThat(floats(encode(array(DataTypes.FloatType), List.of(0f, 1.5f, 0f, -2f), four)))
        .containsExactly(expected);
    assertThat(floats(encode(array(DataTypes.DoubleType), List.of(0.0, 1.5, 0.0, -2.0), four)))
        .containsExactly(expected);
    assertThat(floats(encode(SQLDataTypes.VectorType(), Vectors.dense(0, 1.5, 0, -2), four)))
        .containsExactly(expected);
    assertThat(
            floats(
                encode(
                    SQLDataTypes.VectorType(),
                    Vectors.sparse(4, new int[] {1, 3}, new double[] {1.5, -2}),
                    four)))
        .containsExactly(expected);
    assertThat(
            encode(array(DataTypes.IntegerType), List.of(1, 2), RowColumn.of("v", DType.INT8, 2))
                .array())
        .containsExactly(1, 2);
    assertThat(
            encode(DataTypes.BinaryType, new byte[] {5, -6}, RowColumn.of("v", DType.UINT8, 2))
                .array())
        .containsExactly(5, -6);
  }

  private static DataType array(DataType element) {
    return DataTypes.createArrayType(element);
  }

  private static float[] floats(ByteBuffer bytes) {
    float[] floats = new float[bytes.remaining() / Float.BYTES];
    bytes.asFloatBuffer().get(floats);
    return floats;
  }

  @Test
  void imagesAreDecoded() throws IOException {
    BufferedImage image = new BufferedImage(2, 2, BufferedImage.TYPE_INT_RGB);
    image.setRGB(0, 0, 0x0a141e);
    ByteArrayOutputStream png = new ByteArrayOutputStream();
    ImageIO.write(image, "png", png);
    RowColumn column = RowColumn.image("v", () -> ImagePlan.builder().crop(0, 0, 2, 2).build());

    assertThat(encode(DataTypes.BinaryType, png.toByteArray(), column).array())
        .containsExactly(10, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0);
    refusal(Problem.ROW, DataTypes.BinaryType, new byte[] {1, 2, 3}, column)
        .hasMessageContaining("row 7");
  }

  @Test
  void valuesThatDoNotFitAreNamed() {
    RowColumn bytes = RowColumn.of("v", DType.UINT8);
    RowColumn two = RowColumn.of("v", DType.FLOAT32, 2);

    refusal(Problem.ROW, DataTypes.LongType, 256L, bytes)
        .hasMessage(
            "row 7 of the partition, column v uint8 []: the value must be in [0, 255], got 256");
    refusal(Problem.ROW, DataTypes.LongType, null, bytes).hasMessageContaining("must not be null");
    refusal(Problem.ROW, array(DataTypes.FloatType), List.of(1f), two)
        .hasMessageContaining("must have 2 elements, got 1");
    refusal(Problem.ROW, array(DataTypes.FloatType), Arrays.asList(1f, null), two)
        .hasMessageContaining("element 1 must not be null");
    refusal(Problem.ROW, SQLDataTypes.VectorType(), Vectors.dense(1, 2, 3), two)
        .hasMessageContaining("must have 2 elements, got 3");
    refusal(Problem.ROW, DataTypes.BinaryType, new byte[3], RowColumn.of("v", DType.UINT8, 2))
        .hasMessageContaining("must have 2 bytes, got 3");
  }

  @Test
  void columnsThatCannotBeTensorsAreRefusedByTheDriver() {
    refusal(Problem.SCHEMA, DataTypes.StringType, "a", RowColumn.of("v", DType.INT64))
        .hasMessageContaining("string");
    refusal(Problem.SCHEMA, DataTypes.DoubleType, 1.5, RowColumn.of("v", DType.INT64))
        .hasMessageContaining("double");
    refusal(Problem.SCHEMA, DataTypes.LongType, 1L, RowColumn.of("v", DType.INT64, 2))
        .hasMessageContaining("bigint");
    refusal(Problem.SCHEMA, DataTypes.LongType, 1L, RowColumn.of("w", DType.INT64))
        .hasMessageContaining("must have a column w");
    assertThatThrownBy(() -> RowColumn.of("v", DType.FLOAT16))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("FLOAT16");
  }

  @Test
  void theOrderByContentDoesNotDependOnTheOrderOfArrival() {
    HashList one = new HashList();
    HashList other = new HashList();
    long[] hashes = {9, -4, 7, 9, 0, -4};
    int[] arrival = {5, 3, 0, 2, 4, 1};
    for (int i = 0; i < hashes.length; i++) {
      one.add(hashes[i]);
      other.add(hashes[arrival[i]]);
    }

    assertThat(Arrays.stream(one.placesByHash()).map(place -> hashes[(int) place]))
        .containsExactly(-4L, -4L, 0L, 7L, 9L, 9L);
    assertThat(Arrays.stream(other.placesByHash()).map(place -> hashes[arrival[(int) place]]))
        .containsExactly(-4L, -4L, 0L, 7L, 9L, 9L);
    assertThat(other.placesByHash()).doesNotHaveDuplicates();
    assertThat(one.digest("", RowOrder.BY_CONTENT))
        .isEqualTo(other.digest("", RowOrder.BY_CONTENT));
    assertThat(one.digest("", RowOrder.AS_DELIVERED))
        .isNotEqualTo(other.digest("", RowOrder.AS_DELIVERED));
  }

  @Test
  void manyHashesAreSortedAsNumbers() {
    long[] hashes =
        new Random(3).longs(5000).map(each -> each % 2 == 0 ? each : each % 9).toArray();
    HashList list = new HashList();
    Arrays.stream(hashes).forEach(list::add);

    long[] places = list.placesByHash();

    assertThat(Arrays.stream(places).map(place -> hashes[(int) place]).toArray())
        .isEqualTo(Arrays.stream(hashes).sorted().toArray());
    assertThat(Arrays.stream(places).distinct()).hasSize(hashes.length);
    for (int i = 1; i < places.length; i++) {
      assertThat(hashes[(int) places[i - 1]] < hashes[(int) places[i]] || places[i - 1] < places[i])
          .as("equal hashes are in the order of arrival at %d", i)
          .isTrue();
    }
    assertThat(list.digest("rows", RowOrder.BY_CONTENT))
        .as("the digest in checkpoints of earlier builds")
        .isEqualTo("a73f82ba423c82935ba78a93a10a657fc8931660c8f5052604e5309bceba52df");
    assertThat(list.digest("rows", RowOrder.AS_DELIVERED))
        .isEqualTo("47169380cca06184c82cc76f679e22bc63ed7b1e545016d318b476164279f0f9");
  }
}
