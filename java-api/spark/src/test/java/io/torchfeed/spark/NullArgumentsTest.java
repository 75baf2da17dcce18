// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.memory.DType;
import io.torchfeed.spark.job.SparkRanks;
import io.torchfeed.spark.pipeline.TestModels;
import io.torchfeed.spark.pipeline.TorchfeedEstimator;
import io.torchfeed.spark.pipeline.TorchfeedModel;
import io.torchfeed.table.FittedColumns;
import io.torchfeed.table.NumberColumn;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableLearner;
import io.torchfeed.table.TableTensor;
import io.torchfeed.trace.TraceOptions;
import io.torchfeed.training.EvaluationOptions;
import java.io.Serializable;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.types.StructType;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Calls all published methods and constructors with a null, within a rank, and looks for its name.
 */
@SuppressWarnings("NullAway") // a caller without null checks can pass null
class NullArgumentsTest {
  private static final int CALLS = 45;

  @Test
  void eachArgumentThatIsNullIsNamed() {
    Dataset<?> points = TestSpark.points(TestSpark.local(), 20, 1);

    String[] outcomes =
        SparkRanks.on(points.toDF())
            .columns(RowColumn.of("x", DType.FLOAT32, 3))
            .checkpoints(TestSpark.folder("checkpoints").toUri().toString())
            .train(NullArgumentsTest::outcomes)
            .get(0);

    assertThat(outcomes).hasSizeGreaterThan(CALLS);
    assertThat(outcomes).allMatch(outcome -> outcome.endsWith(": named"));
  }

  /** Runs in a rank, since its context exists only there. */
  private static String[] outcomes(RankContext context, RankRows rows) throws Exception {
    List<String> outcomes = new ArrayList<>();
    try (LineNet net = new LineNet();
        SGD optimizer = LineTask.optimizer(net);
        DistributedDataParallel model = DistributedDataParallel.wrap(net, context.group());
        DataLoader loader = rows.loader().build()) {
      Map<Class<?>, Object> samples = new HashMap<>();
      samples.put(RankContext.class, context);
      samples.put(RankRows.class, rows);
      samples.put(RankCheckpoints.class, context.checkpoints());
      samples.put(DistributedDataParallel.class, model);
      samples.put(DataLoader.class, loader);
      samples.put(Module.class, net);
      samples.put(Optimizer.class, optimizer);
      samples.put(RankLoop.class, RankLoop.of(context, model, loader));
      samples.put(Dataset.class, TestSpark.points(TestSpark.local(), 1, 1));
      samples.put(StructType.class, TestSpark.POINTS);
      samples.put(SparkRanks.class, SparkRanks.on(TestSpark.points(TestSpark.local(), 1, 1)));
      RowColumn x = RowColumn.of("x", DType.FLOAT32, 3);
      samples.put(RowColumn.class, x);
      samples.put(Configuration.class, new Configuration(false));
      samples.put(HadoopSource.class, HadoopSource.of("a", new Configuration(false)));
      samples.put(RankModel.class, RankModel.of(new byte[0], bytes -> null, x, x));
      TorchfeedEstimator estimator =
          TorchfeedEstimator.of(new TorchfeedEstimatorTest.Line(), x, x, x);
      samples.put(TorchfeedEstimator.class, estimator);
      samples.put(TorchfeedModel.class, TestModels.of(new TorchfeedEstimatorTest.Line(), x));
      samples.put(TrainingState.class, TrainingState.builder().build());
      samples.put(ParamMap.class, new ParamMap());
      samples.put(Duration.class, Duration.ofSeconds(1));
      samples.put(EvaluationOptions.class, EvaluationOptions.ofLoss());
      TableColumns table = TableColumns.of(TableTensor.features("x", NumberColumn.of("x")));
      samples.put(TableColumns.class, table);
      samples.put(FittedColumns.class, TableLearner.of(table).fit());
      samples.put(TraceOptions.class, TraceOptions.to(Path.of("trace")));
      samples.put(Serializable.class, "");
      samples.put(Throwable.class, new IllegalStateException());
      samples.put(Map.class, Map.of());
      samples.put(String.class, "x");
      for (Class<?> type : PublishedTypes.all()) {
        if (!type.isEnum()) {
          for (Executable method : methods(type, samples.containsKey(type))) {
            call(method, samples, outcomes);
          }
        }
      }
    }
    return outcomes.toArray(String[]::new);
  }

  /** Returns the methods with code; those without are the user's, unless torchfeed has a sample. */
  private static List<Executable> methods(Class<?> type, boolean hasSample) {
    Stream<Executable> methods =
        Arrays.stream(type.getDeclaredMethods())
            .filter(method -> !method.isSynthetic() && !method.getName().equals("equals"))
            .filter(method -> hasSample || !Modifier.isAbstract(method.getModifiers()))
            .map(method -> method);
    return Stream.concat(methods, Arrays.stream(type.getDeclaredConstructors()))
        .filter(method -> Modifier.isPublic(method.getModifiers()))
        .toList();
  }

  private static void call(Executable method, Map<Class<?>, Object> samples, List<String> outcomes)
      throws Exception {
    Parameter[] parameters = method.getParameters();
    for (int at = 0; at < parameters.length; at++) {
      if (parameters[at].getType().isPrimitive() || isNullable(parameters[at])) {
        continue;
      }
      assertThat(parameters[at].isNamePresent()).as("names of %s", method).isTrue();
      Object[] arguments = new Object[parameters.length];
      for (int i = 0; i < arguments.length; i++) {
        arguments[i] = i == at ? null : sample(parameters[i].getType(), samples);
      }
      String outcome = outcome(method, arguments, samples);
      String expected = "java.lang.NullPointerException: " + parameters[at].getName();
      outcomes.add(
          "%s, %s: %s"
              .formatted(
                  method, parameters[at].getName(), outcome.equals(expected) ? "named" : outcome));
    }
  }

  private static boolean isNullable(Parameter parameter) {
    return parameter.getAnnotatedType().isAnnotationPresent(Nullable.class);
  }

  private static String outcome(
      Executable method, Object[] arguments, Map<Class<?>, Object> samples) throws Exception {
    try {
      Object result =
          method instanceof Constructor<?> constructor
              ? constructor.newInstance(arguments)
              : ((Method) method)
                  .invoke(
                      Modifier.isStatic(method.getModifiers())
                          ? null
                          : sample(method.getDeclaringClass(), samples),
                      arguments);
      return "no exception, but " + result;
    } catch (InvocationTargetException e) {
      return String.valueOf(e.getCause());
    }
  }

  private static @Nullable Object sample(Class<?> type, Map<Class<?>, Object> samples) {
    Object known = samples.get(type);
    if (known != null) {
      return known;
    }
    if (type.isArray()) {
      Object array = Array.newInstance(type.getComponentType(), 1);
      if (!type.getComponentType().isPrimitive()) {
        Array.set(array, 0, sample(type.getComponentType(), samples));
      }
      return array;
    }
    if (type.isPrimitive()) {
      return Array.get(Array.newInstance(type, 1), 0);
    }
    if (type.isEnum()) {
      return type.getEnumConstants()[0];
    }
    assertThat(type.isInterface()).as("a sample of %s is needed", type).isTrue();
    return Proxy.newProxyInstance(
        type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> null);
  }

  @Test
  void elementsThatAreNullAreNumbered() {
    RowColumn x = RowColumn.of("x", DType.FLOAT32);
    SparkRanks ranks = SparkRanks.on(TestSpark.points(TestSpark.local(), 1, 1));

    assertThatNullPointerException()
        .isThrownBy(() -> ranks.columns(x, null))
        .withMessage("columns[1] must not be null");
    assertThatNullPointerException()
        .isThrownBy(() -> RankModel.of(new byte[0], bytes -> null, x, x, null))
        .withMessage("inputs[1] must not be null");
    assertThatNullPointerException()
        .isThrownBy(
            () -> TorchfeedEstimator.of(new TorchfeedEstimatorTest.Line(), x, x, (RowColumn) null))
        .withMessage("inputs[0] must not be null");
  }
}
