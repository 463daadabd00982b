"""The report: a model as one HTML file that works without a network."""

from cslearn.report.page import report_html, write_report

__all__ = ["report_html", "write_report"]
