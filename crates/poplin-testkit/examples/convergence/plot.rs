//! Four panels: strain over iterations of three cloths, and strain over time per frame of the
//! swinging sheet.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use poplin_cook::Tethers;
use poplin_testkit::fibers::{Mix, SwingSolver, WHOLE};

use crate::hanging::Curve;
use crate::swinging::Ladder;

/// Size of the picture \[px\].
const SIZE: (u32, u32) = (960, 720);

/// Least plotted strain \[%\].
const FLOOR: f32 = 1e-3;

const BLUE: RGBColor = RGBColor(0x1f, 0x77, 0xb4);
const ORANGE: RGBColor = RGBColor(0xe6, 0x7e, 0x00);
const GREEN: RGBColor = RGBColor(0x2c, 0x8c, 0x2c);
const VIOLET: RGBColor = RGBColor(0x8b, 0x4c, 0xb0);

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn color(mix: Mix) -> RGBColor {
    match mix {
        Mix::GaussSeidel => BLUE,
        Mix::Vertical => VIOLET,
        Mix::Stretch => ORANGE,
        Mix::All => GREEN,
    }
}

/// Line of a plot: its solver, which determines the color, and its points (x, strain in %).
struct Line {
    mix: Mix,
    points: Vec<(f32, f32)>,
}

/// Draws everything into one SVG on white.
pub(crate) fn draw(curves: &[Curve], ladders: &[Ladder], path: &Path) -> Outcome {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let panels = area.split_evenly((2, 2));
    let third = if curves.iter().any(|curve| curve.cloth == "shirt") {
        "shirt"
    } else {
        "32 x 32 by corners"
    };
    let names = ["64 x 64 by upper row", "64 x 64 by corners", third];
    for (panel, name) in panels.iter().zip(names) {
        let lines = curves.iter().filter(|curve| curve.cloth == name).map(|curve| {
            let points = (0u8..)
                .zip(&curve.strains)
                .map(|(count, strain)| (f32::from(count), 100.0 * strain.rms));
            Line { mix: curve.mix, points: points.collect() }
        });
        over_iterations(
            panel,
            &format!("After a step of free fall: {name}"),
            &lines.collect::<Vec<_>>(),
        )?;
    }
    let tethered = ladders.iter().filter(|ladder| {
        ladder.first.tethers == Tethers::Geodesic && ladder.first.max_fiber_length == Some(WHOLE)
    });
    let lines = tethered.filter_map(|ladder| {
        let SwingSolver::PbdFully(mix) = ladder.first.solver else { return None };
        // Time per frame is computed from iterations, so that other load on the machine does not
        // bend the lines.
        let pace = ladder.pace();
        let points = ladder
            .rungs
            .iter()
            .map(|(count, swung)| (pace * *count as f32, 100.0 * swung.second.p99));
        Some(Line { mix, points: points.collect() })
    });
    over_time(&panels[3], &lines.collect::<Vec<_>>())?;
    area.present()?;
    Ok(())
}

/// Creates a chart with room for axes under a title.
fn titled<'a, 'b>(panel: &'a Panel<'b>, title: &str) -> ChartBuilder<'a, 'b, SVGBackend<'b>> {
    let mut chart = ChartBuilder::on(panel);
    chart
        .margin(10)
        .margin_right(18)
        .x_label_area_size(38)
        .y_label_area_size(58)
        .caption(title, ("sans-serif", 17));
    chart
}

/// Draws axes with plain numbers and horizontal grid lines.
fn draw_axes<X, Y>(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<X, Y>>,
    x: &str,
    y: &str,
) -> Outcome
where
    X: Ranged<ValueType = f32> + ValueFormatter<f32>,
    Y: Ranged<ValueType = f32> + ValueFormatter<f32>,
{
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&|x| format!("{x}"))
        .y_label_formatter(&|y| format!("{y}"))
        .x_desc(x)
        .y_desc(y)
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .draw()?;
    Ok(())
}

fn over_iterations(panel: &Panel<'_>, title: &str, lines: &[Line]) -> Outcome {
    let mut chart =
        titled(panel, title).build_cartesian_2d(0f32..30f32, (FLOOR..3f32).log_scale())?;
    draw_axes(&mut chart, "iterations of the fibers", "RMS strain [%]")?;
    for line in lines {
        // A line ends where it reaches the floor of the plot.
        let end = line
            .points
            .iter()
            .position(|&(_, y)| y < FLOOR)
            .map_or(line.points.len(), |index| index + 1);
        let points = line.points[..end].iter().map(|&(x, y)| (x, y.max(FLOOR)));
        chart.draw_series(LineSeries::new(points, color(line.mix).stroke_width(2)))?;
    }
    Ok(())
}

fn over_time(panel: &Panel<'_>, lines: &[Line]) -> Outcome {
    let mut chart = titled(panel, "Swinging sheet, 64 x 64, with tethers")
        .build_cartesian_2d((0.5f32..50f32).log_scale(), (0.03f32..60f32).log_scale())?;
    draw_axes(&mut chart, "ms a frame on one core", "p99 strain in the 2nd second [%]")?;
    chart
        .draw_series(LineSeries::new([(0.5, 1.0), (50.0, 1.0)], BLACK.mix(0.6).stroke_width(1)))?;
    for line in lines {
        let (color, points) = (color(line.mix), &line.points);
        let series =
            chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?;
        series
            .label(line.mix.name())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, color.filled())))?;
    }
    let mut legend = chart.configure_series_labels();
    legend
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE)
        .label_font(("sans-serif", 13))
        .draw()?;
    Ok(())
}
